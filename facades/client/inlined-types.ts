import type { Json, RecordRef } from './values.ts'

/**
 * Inlines all named types of a type, so that the declarations of the client need none of the service. Recursive types
 * keep a name.
 */
export type InlinedTypes<T> =
  Same<T, Json> extends true ? Json : Same<T, ReadonlyJson> extends true ? Json : InlinedOne<T>

/** JSON as records hold it. */
type ReadonlyJson =
  | string
  | number
  | boolean
  | null
  | readonly ReadonlyJson[]
  | { readonly [name: string]: ReadonlyJson }

type InlinedOne<T> = T extends (input: infer Input, options?: never) => AsyncIterable<infer Part>
  ? (input: InlinedTypes<Input>, options?: { signal?: AbortSignal }) => Promise<AsyncIterable<InlinedTypes<Part>>>
  : T extends (input: infer Input, options?: infer _) => Promise<infer Output>
    ? (input: InlinedTypes<Input>, options?: { signal?: AbortSignal }) => Promise<InlinedTypes<Output>>
    : T extends readonly (infer Item)[]
      ? InlinedTypes<Item>[]
      : T extends AsyncIterable<infer Part>
        ? AsyncIterable<InlinedTypes<Part>>
        : T extends object
          ? Same<keyof T, keyof RecordRef> extends true
            ? RecordRef
            : Merged<InlinedMembers<T>>
          : T

type Same<A, B> = [A, B] extends [B, A] ? true : false

type Merged<T> = T extends infer Members ? { [Name in keyof Members]: Members[Name] } : never

/** Copies the members by plain names, which drops their origin. */
type InlinedMembers<T> = string extends keyof T
  ? { [name: string]: InlinedTypes<T[string & keyof T]> }
  : { [Name in Exclude<Names<T>, OptionalNames<T>>]: InlinedTypes<T[Name]> } & {
      [Name in OptionalNames<T>]?: InlinedTypes<T[Name]>
    }

type Names<T> = keyof T & string

type OptionalNames<T> = { [Name in Names<T>]-?: T extends Required<Pick<T, Name>> ? never : Name }[Names<T>]
