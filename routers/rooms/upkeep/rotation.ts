/** What came of sealing anew what application keys seal. */
export interface Rotation {
  attachments: number
  pictures: number
  /** What front-end migrations keep for people who have not applied them: one for each person and migration. */
  migrationData: number
  /** How many were sealed anew: of an attachment its key, of a picture that of each size. The others already were. */
  renewed: number
  /** How many none of the application keys opens. */
  unknown: number
  /** How many files could not be read, so that their keys stay as they are. */
  unreadable: number
}
