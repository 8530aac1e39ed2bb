import { type DescFile, type DescService, toBinary } from '@bufbuild/protobuf';
import { nestedTypes } from '@bufbuild/protobuf/reflect';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code, type ServiceImpl } from '@connectrpc/connect';
import { file_google_rpc_error_details } from '../../gen/google/rpc/error_details_pb.ts';
import { file_google_rpc_status } from '../../gen/google/rpc/status_pb.ts';
import { ServerReflection, type ServerReflectionRequest } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as ServerReflectionV1Alpha } from '../../gen/grpc/reflection/v1alpha/reflection_pb.ts';

/** Both versions: they differ in nothing but their package. */
export const reflectionServices = [ServerReflection, ServerReflectionV1Alpha] as const;

/**
 * `grpc.reflection`: what the server offers, from the descriptors that its code was generated from, so that a caller such as
 * `buf curl` needs no schema. The error details that are sent can be looked up too.
 *
 * @param services all that the server has, `reflectionServices` among them.
 * @see https://github.com/grpc/grpc/blob/master/doc/server-reflection.md
 */
export function reflectionService(services: readonly DescService[]): ServiceImpl<typeof ServerReflection> {
  const catalogue = new FileCatalogue([
    ...services.map(({ file }) => file),
    file_google_rpc_status,
    file_google_rpc_error_details,
  ]);

  function answer({ messageRequest: request }: ServerReflectionRequest) {
    switch (request.case) {
      case 'listServices': {
        const service = services.map(({ typeName }) => ({ name: typeName })).toSorted(byName);
        return { case: 'listServicesResponse' as const, value: { service } };
      }
      case 'fileByFilename':
        return files(catalogue.byName.get(request.value), `no file ${request.value}`);
      case 'fileContainingSymbol':
        return files(catalogue.bySymbol.get(request.value), `no symbol ${request.value}`);
      case 'fileContainingExtension': {
        const { containingType, extensionNumber } = request.value;
        const file = catalogue.extensionsOf.get(containingType)?.get(extensionNumber);
        return files(file, `no extension ${extensionNumber} of ${containingType}`);
      }
      case 'allExtensionNumbersOfType': {
        const numbers = catalogue.extensionsOf.get(request.value);
        if (!numbers) return failure(Code.NotFound, `no message ${request.value}`);
        const value = { baseTypeName: request.value, extensionNumber: [...numbers.keys()] };
        return { case: 'allExtensionNumbersResponse' as const, value };
      }
      case undefined:
        return failure(Code.InvalidArgument, 'the request asks for nothing that is known here');
    }
  }

  return {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        yield { validHost: request.host, originalRequest: request, messageResponse: answer(request) };
      }
    },
  };
}

/** All that can be looked up. */
class FileCatalogue {
  readonly byName = new Map<string, DescFile>();
  readonly bySymbol = new Map<string, DescFile>();
  /** By the full name of the message that is extended: every message is in it. */
  readonly extensionsOf = new Map<string, Map<number, DescFile>>();

  constructor(files: readonly DescFile[]) {
    const all = new Set(files.flatMap(withDependencies));
    for (const file of all) {
      this.byName.set(file.proto.name, file);
      for (const type of nestedTypes(file)) {
        for (const symbol of symbolsOf(type)) this.bySymbol.set(symbol, file);
        if (type.kind === 'message') this.extensionsOf.set(type.typeName, new Map<number, DescFile>());
      }
    }
    for (const file of all) {
      for (const type of nestedTypes(file)) {
        if (type.kind === 'extension') this.extensionsOf.get(type.extendee.typeName)?.set(type.number, file);
      }
    }
  }
}

type Type = ReturnType<typeof nestedTypes> extends Iterable<infer T> ? T : never;

/** The full name of a type, and those of its members. */
function symbolsOf(type: Type): string[] {
  const within = (members: readonly { name: string }[]) => members.map(({ name }) => `${type.typeName}.${name}`);
  switch (type.kind) {
    case 'message':
      return [type.typeName, ...within(type.fields), ...within(type.oneofs)];
    case 'service':
      return [type.typeName, ...within(type.methods)];
    case 'enum': {
      // Values are named beside their enum, not in it.
      const scope = type.typeName.slice(0, -type.name.length);
      return [type.typeName, ...type.values.map(({ name }) => scope + name)];
    }
    case 'extension':
      return [type.typeName];
  }
}

/** What it imports, directly or not, comes before it. */
function withDependencies(file: DescFile): DescFile[] {
  return [...new Set([...file.dependencies.flatMap(withDependencies), file])];
}

function files(file: DescFile | undefined, missing: string) {
  if (!file) return failure(Code.NotFound, missing);
  const value = {
    fileDescriptorProto: withDependencies(file).map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto)),
  };
  return { case: 'fileDescriptorResponse' as const, value };
}

function failure(errorCode: Code, errorMessage: string) {
  return { case: 'errorResponse' as const, value: { errorCode, errorMessage } };
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}
