/** A stored object, as a listing names it. */
export interface BlobEntry {
  key: string
  /** Its size as it is stored. */
  bytes: number
  modifiedAt: Date
}
