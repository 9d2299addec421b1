import { parseRecord, writeStored } from '../shared/local-store.ts'

/** The branch of a conversation that is shown. */
export interface ShownBranch {
  /** The number of a message on it, after which the newest ones follow; absent for the branch of the newest of all. */
  number?: number
  /** The visit to a linked message that was followed, so that a reload doesn't follow it again. */
  visit?: string | undefined
}

/** The branches by conversation. The tab's storage survives a reload, and each tab shows its own. */
const STORAGE_KEY = 'svc:branches'

/** The most conversations whose branches are kept. */
const MAX_BRANCHES = 100

const readBranches = () => (parseRecord(sessionStorage.getItem(STORAGE_KEY) ?? '') ?? {}) as Record<string, ShownBranch>

export const readShownBranch = (slug: string): ShownBranch | undefined => readBranches()[slug]

export function writeShownBranch(slug: string, branch: ShownBranch): void {
  const { [slug]: _, ...others } = readBranches()
  const entries = [...Object.entries(others), [slug, branch]].slice(-MAX_BRANCHES)
  writeStored(STORAGE_KEY, Object.fromEntries(entries), sessionStorage)
}
