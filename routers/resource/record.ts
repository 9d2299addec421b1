import type { z } from 'zod'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'
import type { Attributes, FindValues, Resource } from './declare.ts'

type IsOptional<T> = T extends { only: string } | { sparse: true } | { onDemand: FindValues } ? true : false

type Values<A extends Attributes> = {
  readonly [K in keyof A as IsOptional<A[K]> extends true ? never : K]: DeepReadonly<z.output<A[K]['schema']>>
} & { readonly [K in keyof A as IsOptional<A[K]> extends true ? K : never]?: DeepReadonly<z.output<A[K]['schema']>> }

/** A row as procedures return it. Relations hold an id, or whole records where they were included. */
export type RecordOf<R> = R extends Resource<infer A> ? Values<A> & RecordRef : never

/** Read-only, as all of a record: several requests may hold the same one. */
export interface RecordRef {
  readonly id: string
  /** By what the caller reads it, where that is not its id. */
  readonly addressedAs?: string
  /** Changes with every write of the row; an update can insist on it. */
  readonly rowVersion?: string
  readonly relations?: Readonly<Record<string, RecordRef | RecordRef[] | null>>
}

/** A record, and not just a link to it. */
export interface ResourceRecord extends RecordRef {
  readonly relations: Readonly<Record<string, RecordRef | RecordRef[] | null>>
}

/** What a list of a type can be asked for. */
export interface ListInput<R extends Resource> {
  include?: R['includes'][number][] | undefined
  /** A `-` in front of the name turns the order round. */
  sort?: (R['sorts'][number] | `-${R['sorts'][number]}`)[] | undefined
  filter?: { [Name in keyof R['filters']]?: z.input<R['filters'][Name]['schema']> | undefined } | undefined
  page?: { number?: number | undefined; size?: number | undefined } | undefined
}

type Moment = 'create' | 'update'

/** The attributes and relations of a type that are written at this moment. */
type Writable<M, At extends Moment> = { [K in keyof M as M[K] extends { write: true | At } ? K : never]: M[K] }
type Members<R extends Resource, At extends Moment> = Writable<R['attributes'], At> & Writable<R['relations'], At>

/** A relation is written by ids. */
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

/** What a new row is given. What has a default may be left out. */
export type CreateInput<R extends Resource> = {
  [K in keyof Members<R, 'create'> as HasDefault<Members<R, 'create'>[K]> extends true ? never : K]: InputOf<
    Members<R, 'create'>[K]
  >
} & {
  [K in keyof Members<R, 'create'> as HasDefault<Members<R, 'create'>[K]> extends true ? K : never]?:
    | InputOf<Members<R, 'create'>[K]>
    | undefined
}

/** What a change of a row is given: its id, perhaps the version that is to be changed, and what is to be another. */
export type UpdateInput<R extends Resource> = {
  id: string
  ifVersion?: string | string[] | undefined
} & { [K in keyof Members<R, 'update'>]?: InputOf<Members<R, 'update'>[K]> | undefined }
