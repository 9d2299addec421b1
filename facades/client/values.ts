/** Any value of JSON. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

/** A record that comes along by a relation, in turn with its own where they were asked for. */
export interface RecordRef {
  id: string
  rowVersion?: string
  /** By what it is read, where that is not its id. */
  addressedAs?: string
  relations?: Record<string, RecordRef | RecordRef[] | null>
}
