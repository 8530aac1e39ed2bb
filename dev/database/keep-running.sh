#!/bin/sh
# Runs COMMAND for as long as standard input stays open. When it closes, which even SIGKILL of the parent cannot
# prevent, COMMAND is stopped and FOLDER cleaned up: nothing is left behind.
#
#   keep-running.sh FOLDER remove|keep COMMAND...
#
# remove: COMMAND gets SIGKILL, FOLDER is removed. keep: COMMAND gets SIGTERM, and SIGKILL 20 s later; FOLDER stays,
# and is refused to a second keeper. COMMAND's output goes to FOLDER/log, the text in $INIT_SQL to FOLDER/init.sql.
# Prints `in use by PID`, or `running` and, when COMMAND ends by itself, `ended STATUS`.
set -u
umask 077
folder=$1 fate=$2
shift 2

mkdir -p "$folder" || exit
if [ "$fate" = keep ]; then
  owner=$(cat "$folder/lock" 2>/dev/null)
  if [ -n "$owner" ] && kill -0 "$owner" 2>/dev/null; then
    echo "in use by $owner"
    exit 1
  fi
  rm -f "$folder/lock"
  (set -C && echo $$ >"$folder/lock") || exit
fi
printf '%s' "${INIT_SQL:-}" >"$folder/init.sql"
unset INIT_SQL
: >"$folder/log"
echo running

exec 3<&0
"$@" </dev/null >>"$folder/log" 2>&1 3<&- &
command=$!
(
  read -r _ <&3
  if [ "$fate" = keep ]; then
    kill -TERM "$command"
    for _ in $(seq 200); do sleep 0.1; done
  fi
  kill -KILL "$command"
) >/dev/null 2>&1 &
guard=$!

wait "$command"
status=$?
# From here the pid may become somebody else's: the guard must not outlive it.
kill -KILL "$guard" 2>/dev/null
trap '' PIPE
echo "ended $status" 2>/dev/null
read -r _ <&3
if [ "$fate" = keep ]; then rm -f "$folder/lock" "$folder/init.sql"; else rm -rf "$folder"; fi
