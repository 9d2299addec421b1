/** What a file of a frontend migration exports as `migration`; its name is that of the file. */
export interface FrontendMigrationFile {
  /** What the browser of this person needs to know; kept sealed until it has applied the migration. */
  userdata?(user: {
    id: number
    username: string
  }): Record<string, unknown> | undefined | Promise<Record<string, unknown> | undefined>
}
