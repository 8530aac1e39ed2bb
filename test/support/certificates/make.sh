#!/bin/sh
# How the certificates here were made (OpenSSL 3). Only tests use them: their private keys are no secret. Run it again to replace all.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cat >"$work/ca.cnf" <<END
[ca]
default_ca = this
[this]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
END
: >"$work/index"

# By a clock that is wrong by years they are good, too; the one that has expired has expired by any.
start=20200101000000Z
end=21200101000000Z

sign() { # NAME COMMON-NAME EXTENSIONS, and options of openssl ca
  name=$1
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$name.key" -out "$work/csr" -subj "/CN=$2"
  printf '%b' "$3" >"$work/extensions"
  shift 3
  openssl ca -config "$work/ca.cnf" -batch -notext -in "$work/csr" -out "$name.pem" -extfile "$work/extensions" -startdate $start "$@"
}

authority() { # NAME
  sign "$1" "$1" 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n' -selfsign -keyfile "$1.key" -enddate $end
}

by() { # AUTHORITY: the options with which it signs
  echo "-cert $1.pem -keyfile $1.key"
}

for_server='extendedKeyUsage=serverAuth\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n'
for_client='extendedKeyUsage=clientAuth\n'

authority ca
authority other-ca
sign server server "$for_server" $(by ca) -enddate $end
sign renewed-server renewed-server "$for_server" $(by ca) -enddate $end
sign expired-server expired-server "$for_server" $(by ca) -enddate 20200102000000Z

# Allowed by the tests: gateway.internal, spiffe://shop/bff and order-svc.
sign gateway ignored "${for_client}subjectAltName=DNS:gateway.internal\n" $(by ca) -enddate $end
sign bff ignored "${for_client}subjectAltName=DNS:pod-7,URI:spiffe://shop/bff\n" $(by ca) -enddate $end
sign order-svc order-svc "$for_client" $(by ca) -enddate $end

# Not allowed: another name; an allowed one where it does not count; an allowed one by another authority, and on a server's certificate.
sign stranger stranger "${for_client}subjectAltName=DNS:stranger.internal\n" $(by ca) -enddate $end
sign named-by-subject gateway.internal "${for_client}subjectAltName=DNS:stranger.internal\n" $(by ca) -enddate $end
sign forged ignored "${for_client}subjectAltName=DNS:gateway.internal\n" $(by other-ca) -enddate $end
sign not-a-client ignored 'extendedKeyUsage=serverAuth\nsubjectAltName=DNS:gateway.internal\n' $(by ca) -enddate $end
