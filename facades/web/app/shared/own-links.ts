import { queryOptions, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { api, queryClient } from './api/client.ts'
import type { ConversationKey } from './conversation-key.ts'
import { type ChangeEvent, followChanges } from './live.ts'
import { parseRecord } from './local-store.ts'
import { formatTimestamp } from './text/formats.ts'
import { t } from './text/labels.ts'

type StoredLink = Awaited<ReturnType<typeof api.sharedLinks.list.query>>[number]
export type LinkRules = Awaited<ReturnType<typeof api.sharedLinks.rules.query>>

/** The parts of a chat that a copy contains beside its texts. */
export interface ShareOptions {
  files: boolean
  instructions: boolean
  /** The inputs and the results of tools. */
  tools: boolean
}

/** A link with what only its owner can decrypt. */
export interface OwnLink extends StoredLink {
  /** The whole link; undefined if its key is damaged, or sealed with another one, or if the person's keys are locked. */
  address: string | undefined
  key: string | undefined
  options: ShareOptions
}

const LINKS_KEY = 'shared-links'

/**
 * Reads with whom the person may share, and their links, or those of one chat, and again when one of them changes elsewhere.
 * Without keys they have no addresses.
 */
export function useLinks(key: ConversationKey | undefined, slug?: string) {
  useEffect(() => followChanges((change) => isOfLinks(change) && void refreshLinks()), [])
  return useQuery(
    queryOptions({
      queryKey: [LINKS_KEY, slug, key !== undefined],
      queryFn: async ({ signal }) => {
        const [rules, links] = await Promise.all([
          api.sharedLinks.rules.query(undefined, { signal }),
          api.sharedLinks.list.query({ slug }, { signal }),
        ])
        return { rules, links: await Promise.all(links.map((link) => openLink(key, link))) }
      },
    }),
  )
}

/** After a gap any link may have changed. */
const isOfLinks = (change: ChangeEvent) => change?.kind?.startsWith('shared-links.') ?? true

export const refreshLinks = () => queryClient.invalidateQueries({ queryKey: [LINKS_KEY] })

/** Opens the key of a link, what its copies contain, so that a later copy has the same, and the name of its chat. */
async function openLink(conversationKey: ConversationKey | undefined, link: StoredLink): Promise<OwnLink> {
  const open = async (sealed: string) => conversationKey?.open(sealed).catch(() => undefined)
  const opened = parseRecord((await open(link.sealedKey)) ?? '') ?? {}
  const key = typeof opened['key'] === 'string' ? opened['key'] : undefined
  return {
    ...link,
    name: (link.sealedName && (await open(link.sealedName))) || link.name,
    key,
    address: key && `${location.origin}/s/${link.id}#${key}`,
    options: {
      files: opened['files'] === true,
      instructions: opened['instructions'] === true,
      tools: opened['tools'] === true,
    },
  }
}

/** Returns the number that tells a link from the others of its chat, of which the oldest is the first; undefined for the only one. */
export function findLinkNumber({ id }: OwnLink, ofChat: readonly OwnLink[]): number | undefined {
  if (ofChat.length < 2) return undefined
  const oldestFirst = ofChat.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt))
  return oldestFirst.findIndex((link) => link.id === id) + 1
}

/** The days for which a link is made or renewed unless the person chooses others. */
export const USUAL_DAYS = 30

export const getRenewalDays = ({ maxDays }: LinkRules): number => Math.min(USUAL_DAYS, maxDays)

export async function renewLink({ id }: OwnLink, days: number): Promise<void> {
  await api.sharedLinks.change.mutate({ id, days })
  await refreshLinks()
}

/** Ends a link, or removes one that has ended from the list. */
export async function endLink({ id }: { id: string }): Promise<void> {
  await api.sharedLinks.end.mutate({ id })
  await refreshLinks()
}

export async function endAllLinks(): Promise<void> {
  await api.sharedLinks.endAll.mutate()
  await refreshLinks()
}

const endTexts = {
  time: 'app.share.ranOutAt',
  administrator: 'app.share.endedByAdministratorAt',
  unknown: 'app.share.endedAt',
}

/** Says who may read a link, of when its copy is, what is in it, and when it ends or how it has ended. */
export function describeLink(link: OwnLink): string {
  const { sharedAt, endsAt, isEnded, endedBy } = link
  const end = { time: formatTimestamp(new Date(endsAt)) }
  if (isEnded) return t(endTexts[endedBy ?? 'unknown'], end)
  const facts = [
    describeReaders(link),
    sharedAt === null ? t('app.share.noCopy') : t('app.share.copyOf', { time: formatTimestamp(new Date(sharedAt)) }),
    t('app.share.endsAt', end),
    ...describeContents(link),
  ]
  return facts.join(' · ')
}

function describeReaders({ audience, groups }: OwnLink): string {
  if (audience === 'groups') return groups.map((name) => t('app.share.group', { name })).join(', ')
  return t(audience === 'everybody' ? 'app.share.everybody' : 'app.share.people')
}

const describeContents = ({ options }: OwnLink): string[] =>
  (['files', 'instructions', 'tools'] as const).filter((name) => options[name]).map((name) => t(`app.share.${name}`))

/** Says who cannot read a link any more, because the rules have changed since it was made. */
export function describeLimit({ audience, isEnded }: OwnLink, { mayShare, maySharePublicly }: LinkRules) {
  if (isEnded) return undefined
  if (!mayShare) return t('app.share.nowClosed')
  return audience === 'everybody' && !maySharePublicly ? t('app.share.nowSignedIn') : undefined
}
