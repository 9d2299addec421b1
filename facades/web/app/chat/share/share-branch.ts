import { SvcError } from '../../../../client/index.ts'
import { api } from '../../shared/api/client.ts'
import { InputError, isOverQuota } from '../../shared/api/error-text.ts'
import { setSessionEnded } from '../../shared/api/session-end.ts'
import type { ConversationKey } from '../../shared/conversation-key.ts'
import { type LinkRules, type OwnLink, refreshLinks, type ShareOptions } from '../../shared/own-links.ts'
import { makeLinkKey, sealCopy } from '../../shared/shared-copy.ts'
import { formatSize } from '../../shared/text/file-size.ts'
import { t } from '../../shared/text/labels.ts'
import { copyBranch } from './copy-branch.ts'

type NewLink = Parameters<typeof api.sharedLinks.create.mutate>[0]
export type Readers = Pick<NewLink, 'audience' | 'groups'> & { days: number }

interface Sharing {
  key: ConversationKey
  slug: string
  rules: LinkRules
}

/** Makes a link, and stores the copy of the branch that is shown. A link without its copy is ended again. */
export async function shareBranch({ key, slug, rules }: Sharing, readers: Readers, options: ShareOptions) {
  const linkKey = makeLinkKey()
  const copy = await sealBranch({ key, slug, rules }, linkKey, options)
  const sealedKey = await key.seal(JSON.stringify({ key: linkKey, ...options }))
  const { id } = await api.sharedLinks.create.mutate({ slug, sealedKey, ...readers }).catch(rethrowQuota)
  try {
    await upload(id, copy)
  } catch (error) {
    await api.sharedLinks.end.mutate({ id }).catch(() => {})
    throw error
  } finally {
    await refreshLinks()
  }
}

/** Stores another copy behind the same link. */
export async function updateLink(sharing: Sharing, { id, key, options }: OwnLink): Promise<void> {
  if (key === undefined) throw new InputError(t('app.share.damaged'))
  await upload(id, await sealBranch(sharing, key, options))
  await refreshLinks()
}

async function sealBranch({ key, slug, rules }: Sharing, linkKey: string, options: ShareOptions): Promise<Blob> {
  const sealed = await sealCopy(await copyBranch(key, slug, options), linkKey)
  if (sealed.size > rules.maxBytes) throw createTooLargeError(rules.maxBytes)
  return sealed
}

/** Rethrows an error, in words if the person has no room for another link or copy. */
function rethrowQuota(error: unknown): never {
  throw isOverQuota(error) ? new InputError(t('app.share.full')) : error
}

const createTooLargeError = (maxBytes: number) =>
  new InputError(t('app.share.tooLarge', { size: formatSize(maxBytes) }))

/** Sends the copy as it is; the client of the service sends only JSON. */
async function upload(id: string, body: Blob): Promise<void> {
  const input = encodeURIComponent(JSON.stringify({ id }))
  const headers = { 'content-type': 'application/octet-stream' }
  const response = await fetch(`/trpc/sharedLinks.upload?input=${input}`, { method: 'PUT', headers, body }).catch(
    (cause: unknown) => {
      throw new SvcError(cause)
    },
  )
  if (response.ok) return
  if (response.status === 413) throw createTooLargeError(body.size)
  if (response.status === 401) setSessionEnded(true)
  rethrowQuota(new SvcError(await response.json().catch((cause: unknown) => cause)))
}
