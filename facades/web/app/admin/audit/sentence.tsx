import { Fragment, type ReactNode } from 'react'
import type { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { describeOutcome, getSentenceKey } from './act-texts.ts'
import { listChanges, type MemberChange } from './changes.ts'
import { describeReference, type Names, Reference } from './reference.tsx'

type Page = Awaited<ReturnType<typeof api.audit.list.query>>

/** An entry with the names of its page. */
export type Entry = Page['entries'][number] & { names: Names }

/** The most changes that a sentence names; the details have all. */
const MAX_CHANGES = 5

/** Says in words who did what to whom, with links. */
export const Sentence = ({ entry }: { entry: Entry }) => (
  <span>
    {fill(entry, (reference, removedName) =>
      removedName === undefined ? (
        <Reference reference={reference} names={entry.names} />
      ) : (
        <bdi>{describeReference(reference, { [reference]: removedName })}</bdi>
      ),
    )}
  </span>
)

/** Writes the same sentence as a text, for the CSV file. */
export const writeSentence = (entry: Entry): string =>
  fill(entry, (reference, removedName) =>
    describeReference(reference, removedName === undefined ? entry.names : { [reference]: removedName }),
  )
    .map(({ props }) => String((props as { children?: unknown }).children ?? ''))
    .join('')

/** Renders a reference, as a link or as a text; the name is that of something that was removed. */
type Show = (reference: string, removedName?: string) => ReactNode

/** Fills the label of an entry with its parts and its changes. */
function fill(entry: Entry, show: Show) {
  const { act, outcome, change } = entry
  const parts = listParts(entry, show)
  const key = getSentenceKey(entry)
  const changes = outcome === 'ok' ? listChanges(act, change) : []
  if (changes.length === 0) return fillLabel(key, parts)
  const isGeneric = key === 'app.audit.change' || key === 'app.audit.callOn'
  const sentence = fillLabel(isGeneric ? 'app.audit.change' : key, parts)
  return [...sentence, <Fragment key="changes">{`: ${listTexts(changes)}`}</Fragment>]
}

/** Lists what the placeholders of sentences stand for. */
function listParts(entry: Entry, show: Show): Record<string, ReactNode> {
  const { act, outcome, actor, subject, change, origin } = entry
  const operator = origin?.['operator']
  const limit = change?.['limit']
  return {
    actor: actor === 'host' && typeof operator === 'string' ? t('app.audit.hostBy', { name: operator }) : show(actor),
    subject: subject === null ? '' : show(subject, findRemovedName(entry)),
    act,
    limit: typeof limit === 'string' ? show(`limits:${limit}`) : '',
    reason: describeOutcome(outcome),
  }
}

/** Finds the name that the removed subject of an entry had. */
function findRemovedName({ subject, names, change }: Entry): string | undefined {
  if (subject === null || names[subject] !== undefined || change?.['after']) return undefined
  const { name } = (change?.['before'] ?? {}) as { name?: unknown }
  return typeof name === 'string' ? name : undefined
}

function listTexts(changes: readonly MemberChange[]): string {
  const texts = changes
    .slice(0, MAX_CHANGES)
    .map(({ member, values }) =>
      values ? t('app.audit.memberFrom', { member, from: values.before, to: values.after }) : member,
    )
  return [...texts, ...(changes.length > MAX_CHANGES ? ['…'] : [])].join('; ')
}

/** Fills the placeholders of a label with nodes. */
const fillLabel = (key: string, parts: Readonly<Record<string, ReactNode>>) =>
  t(key)
    .split(/(:[a-z]+\b)/)
    .map((text, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a label keep their order
      <Fragment key={at}>{at % 2 === 1 ? parts[text.slice(1)] : text}</Fragment>
    ))
