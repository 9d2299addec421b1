import { StoredDraft } from '../shared/conversation/draft.ts'
import { useSession } from '../shared/session.tsx'

/** Returns a function that finds the draft of an assistant by its handle, which is empty for one that is not made yet. */
export function useDraftStores(): (handle: string) => StoredDraft {
  const { connection, conversationKey } = useSession()
  return (handle) => new StoredDraft(conversationKey, String(connection.userinfo?.id), `assistant:${handle}`)
}
