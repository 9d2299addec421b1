import type { SessionRecord } from './session.ts'

/** A session under a name that opens nothing, so that its owner may see it. */
export interface ListedSession {
  handle: string
  record: SessionRecord
}

/** Which sessions people have, in whichever browsers and on whichever replicas. */
export interface SessionRoll {
  /** Those whose time is not over, ended epochs included. */
  list(userId: number): Promise<ListedSession[]>
  /** Whether the person had it, and it is now over. */
  end(userId: number, handle: string): Promise<boolean>
  /** Leaves nothing of the person's sessions. */
  clear(userId: number): Promise<void>
}
