/** The contents of a backup, in numbers. */
export interface BackupSummary {
  /** When its copy of the database was taken, in ISO 8601. */
  createdAt: string
  /** The last migration of its database. */
  schema: string
  tables: number
  rows: number
  /** Stored files; those in a bucket are named only. */
  files: number
  /** The bytes of files that lie in the backup. */
  bytes: number
}

/** Makes copies of the installation, but for its keys. */
export interface Backups {
  /** Writes a copy into a folder that is not there yet, or is empty. */
  create(folder: string): Promise<BackupSummary>
  /** Reads a copy to its end; throws a sentence where it is not what was written, or belongs to other keys. */
  verify(folder: string): Promise<BackupSummary>
}
