/** Any value of JSON. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

/** A related record, with its own relations if they were included. */
export interface RecordRef {
  id: string
  rowVersion?: string
  /** The key by which it is read, if that is not its id. */
  addressedAs?: string
  relations?: Record<string, RecordRef | RecordRef[] | null>
}
