"""Calls the services by Debian's grpcio, with descriptors that are made of the contract as it runs.

Takes one call a line on standard input, as JSON; answers each by a line: {"response": …} or {"error": {"code", "details"}}.
"""

import json
import subprocess
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

GOOGLE = "node_modules/google-gax/build/protos"
# Debian's grpc_tools has a protoc that is too old for optional fields in proto3.
BUILDS = [
    ["proto"],
    [GOOGLE, "--path", GOOGLE + "/google/rpc/status.proto", "--path", GOOGLE + "/google/rpc/error_details.proto"],
]


def read_contract():
    pool = descriptor_pool.DescriptorPool()
    names = set()
    for arguments in BUILDS:
        command = ["node_modules/.bin/buf", "build", *arguments, "--as-file-descriptor-set", "-o", "-"]
        built = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        for file in descriptor_pb2.FileDescriptorSet.FromString(built).file:
            if file.name not in names:
                pool.Add(file)
                names.add(file.name)
    return pool


def class_of(pool, descriptor):
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def details_of(pool, metadata):
    """Decodes grpc-status-details-bin: each detail as its type and its JSON."""
    found = [value for key, value in metadata or () if key == "grpc-status-details-bin"]
    if not found:
        return None, []
    status = class_of(pool, pool.FindMessageTypeByName("google.rpc.Status")).FromString(found[0])
    details = []
    for packed in status.details:
        name = packed.type_url.rsplit("/", 1)[-1]
        detail = class_of(pool, pool.FindMessageTypeByName(name)).FromString(packed.value)
        details.append({"type": name, "value": json_format.MessageToDict(detail, descriptor_pool=pool)})
    return status.code, details


def channel_to(call):
    if "caFile" not in call:
        return grpc.insecure_channel(call["target"])
    with open(call["caFile"], "rb") as file:
        return grpc.secure_channel(call["target"], grpc.ssl_channel_credentials(file.read()))


def answer(pool, channels, call):
    target = call["target"]
    if target not in channels:
        channels[target] = channel_to(call)
    method = pool.FindServiceByName(call["service"]).FindMethodByName(call["method"])
    request = json_format.ParseDict(call["request"], class_of(pool, method.input_type)())
    rpc = channels[target].unary_unary(
        "/{}/{}".format(call["service"], call["method"]),
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=class_of(pool, method.output_type).FromString,
    )
    try:
        response = rpc(request, metadata=list(call["headers"].items()))
    except grpc.RpcError as error:
        code, details = details_of(pool, error.trailing_metadata())
        if code not in (None, error.code().value[0]):
            raise ValueError("grpc-status is {}, grpc-status-details-bin says {}".format(error.code(), code))
        return {"error": {"code": error.code().value[0], "details": details}}
    return {"response": json_format.MessageToDict(response, descriptor_pool=pool)}


def main():
    pool = read_contract()
    channels = {}
    for line in sys.stdin:
        print(json.dumps(answer(pool, channels, json.loads(line))), flush=True)


main()
