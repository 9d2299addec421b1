import type { z } from 'zod'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'
import type { Attributes, FindValues, Resource } from './declare.ts'

type IsOptional<T> = T extends { only: string } | { sparse: true } | { onDemand: FindValues } ? true : false

type Values<A extends Attributes> = {
  readonly [K in keyof A as IsOptional<A[K]> extends true ? never : K]: DeepReadonly<z.output<A[K]['schema']>>
} & { readonly [K in keyof A as IsOptional<A[K]> extends true ? K : never]?: DeepReadonly<z.output<A[K]['schema']>> }

/** A row as procedures return it. Relations hold an id, or whole records if they were included. */
export type RecordOf<R> = R extends Resource<infer A> ? Values<A> & RecordRef : never

/** A link to a record. It is read-only, because several requests may share it. */
export interface RecordRef {
  readonly id: string
  /** The key in its address, if this is not its id. */
  readonly addressedAs?: string
  /** Changes with every write of the row; an update can require it. */
  readonly rowVersion?: string
  readonly relations?: Readonly<Record<string, RecordRef | RecordRef[] | null>>
}

/** A record as a statement returns it: with the source of its row until it is completed by it. */
export type UncompletedRecord = ResourceRecord & { readonly rowSource?: unknown }

/** A record, not only a link to it. */
export interface ResourceRecord extends RecordRef {
  readonly relations: Readonly<Record<string, RecordRef | RecordRef[] | null>>
}

/** Input of a list. */
export interface ListInput<R extends Resource> {
  include?: R['includes'][number][] | undefined
  /** A leading `-` reverses the order. */
  sort?: (R['sorts'][number] | `-${R['sorts'][number]}`)[] | undefined
  filter?: { [Name in keyof R['filters']]?: z.input<R['filters'][Name]['schema']> | undefined } | undefined
  page?: { number?: number | undefined; size?: number | undefined } | undefined
}

type Moment = 'create' | 'update'

/** The attributes and relations of a type that are writable at this moment. */
type Writable<M, At extends Moment> = { [K in keyof M as M[K] extends { write: true | At } ? K : never]: M[K] }
type Members<R extends Resource, At extends Moment> = Writable<R['attributes'], At> & Writable<R['relations'], At>

/** The input of a writable attribute or relation; a relation is written by ids. */
type InputOf<T> = T extends { input: infer I extends z.ZodType }
  ? z.input<I>
  : T extends { schema: infer S extends z.ZodType }
    ? z.input<S>
    : T extends { many: true }
      ? string[]
      : T extends { default: null }
        ? string | null
        : string

type HasDefault<T> = T extends { default: unknown } ? true : false

/** Input of a new row; members with a default are optional. */
export type CreateInput<R extends Resource> = {
  [K in keyof Members<R, 'create'> as HasDefault<Members<R, 'create'>[K]> extends true ? never : K]: InputOf<
    Members<R, 'create'>[K]
  >
} & {
  [K in keyof Members<R, 'create'> as HasDefault<Members<R, 'create'>[K]> extends true ? K : never]?:
    | InputOf<Members<R, 'create'>[K]>
    | undefined
}

/** Input of an update: the id, optionally the expected version, and the changed members. */
export type UpdateInput<R extends Resource> = {
  id: string
  ifVersion?: string | string[] | undefined
} & { [K in keyof Members<R, 'update'>]?: InputOf<Members<R, 'update'>[K]> | undefined }
