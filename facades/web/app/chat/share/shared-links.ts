import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, queryClient } from '../../shared/api/client.ts'
import { InputError } from '../../shared/api/error-text.ts'
import type { ConversationKey } from '../../shared/conversation-key.ts'
import { parseRecord } from '../../shared/local-store.ts'
import { makeLinkKey, sealCopy } from '../../shared/shared-copy.ts'
import { formatMegabytes } from '../../shared/text/file-size.ts'
import { t } from '../../shared/text/labels.ts'
import { copyBranch, type ShareOptions } from './copy-branch.ts'

type StoredLink = Awaited<ReturnType<typeof api.sharedLinks.list.query>>[number]
type NewLink = Parameters<typeof api.sharedLinks.create.mutate>[0]
export type LinkRules = Awaited<ReturnType<typeof api.sharedLinks.rules.query>>
export type Readers = Pick<NewLink, 'audience' | 'groups'> & { days: number }

/** A link with what only its owner can decrypt. */
export interface OwnLink extends StoredLink {
  /** The whole link; undefined if its key is damaged, or sealed with another one. */
  address: string | undefined
  key: string | undefined
  options: ShareOptions
}

const LINKS_KEY = 'shared-links'

/** Reads with whom the person may share, and the links of a chat. */
export const useLinks = (key: ConversationKey, slug: string) =>
  useQuery(
    queryOptions({
      queryKey: [LINKS_KEY, slug],
      queryFn: async ({ signal }) => {
        const [rules, links] = await Promise.all([
          api.sharedLinks.rules.query(undefined, { signal }),
          api.sharedLinks.list.query({ slug }, { signal }),
        ])
        return { rules, links: await Promise.all(links.map((link) => openLink(key, link))) }
      },
    }),
  )

const refreshLinks = () => queryClient.invalidateQueries({ queryKey: [LINKS_KEY] })

/** The key of a link and what its copies contain, so that a later copy has the same. */
async function openLink(key: ConversationKey, link: StoredLink): Promise<OwnLink> {
  const opened = parseRecord(await key.open(link.sealedKey).catch(() => '')) ?? {}
  const linkKey = typeof opened['key'] === 'string' ? opened['key'] : undefined
  return {
    ...link,
    key: linkKey,
    address: linkKey && `${location.origin}/s/${link.id}#${linkKey}`,
    options: {
      files: opened['files'] === true,
      instructions: opened['instructions'] === true,
      tools: opened['tools'] === true,
    },
  }
}

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
  const { id } = await api.sharedLinks.create.mutate({ slug, sealedKey, ...readers })
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

export async function renewLink({ id }: OwnLink, days: number): Promise<void> {
  await api.sharedLinks.change.mutate({ id, days })
  await refreshLinks()
}

export async function endLink({ id }: { id: string }): Promise<void> {
  await api.sharedLinks.end.mutate({ id })
  await refreshLinks()
}

async function sealBranch({ key, slug, rules }: Sharing, linkKey: string, options: ShareOptions): Promise<Blob> {
  const sealed = await sealCopy(await copyBranch(key, slug, options), linkKey)
  if (sealed.size > rules.maxBytes) throw createTooLargeError(rules.maxBytes)
  return sealed
}

const createTooLargeError = (maxBytes: number) =>
  new InputError(t('app.share.tooLarge', { size: formatMegabytes(maxBytes) }))

/** Sends the copy as it is; the client of the service sends only JSON. */
async function upload(id: string, body: Blob): Promise<void> {
  const input = encodeURIComponent(JSON.stringify({ id }))
  const headers = { 'content-type': 'application/octet-stream' }
  const response = await fetch(`/trpc/sharedLinks.upload?input=${input}`, { method: 'PUT', headers, body })
  if (response.status === 413) throw createTooLargeError(body.size)
  if (response.status === 422) throw new InputError(t('app.share.full'))
  if (!response.ok) throw new InputError(t('page.error'))
}
