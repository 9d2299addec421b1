export const sessionCredential = (handle: string) => `session:${handle}`
export const tokenCredential = (id: number) => `token:${id}`

/** Reports when sessions and tokens end, on any replica. */
export interface CredentialWatch {
  /**
   * Watches `session:{hash}` or `token:{id}`, and resolves with a function that stops; undefined if it has ended.
   * Reports the end once: immediately if it is announced, otherwise within a second.
   */
  watch(credential: string, onEnded: () => void): Promise<(() => void) | undefined>
  /** Watches a credential that was just verified, without another check. */
  watchVerified(credential: string, onEnded: () => void): () => void
  /**
   * Reports that these credentials have ended, first on this replica and then on the others; resolves when the others
   * are notified. Call it after the commit.
   */
  announce(ended: readonly string[]): Promise<void>
  close(): void
}
