/** The contents of a backup, in numbers. */
export interface BackupSummary {
  /** Time of the database copy, in ISO 8601. */
  createdAt: string
  /** The last migration of its database. */
  schema: string
  tables: number
  rows: number
  /** Number of stored files, including those in a bucket, which are only listed. */
  files: number
  /** Bytes of the files in the backup. */
  bytes: number
}

/** Makes copies of the installation, without its keys. */
export interface Backups {
  /** Writes a copy into a new or empty folder. */
  create(folder: string): Promise<BackupSummary>
  /** Reads a whole copy; throws if it was modified or belongs to other keys. */
  verify(folder: string): Promise<BackupSummary>
}
