/** A file of a frontend migration exports this as `migration`; the migration has the name of the file. */
export interface FrontendMigrationFile {
  /** Returns data for the person's browser, which is stored sealed until the migration is applied. */
  userdata?(user: {
    id: number
    username: string
  }): Record<string, unknown> | undefined | Promise<Record<string, unknown> | undefined>
}
