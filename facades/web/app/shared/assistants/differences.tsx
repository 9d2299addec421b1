import type { ReactNode } from 'react'
import { t } from '../text/labels.ts'
import { Avatar } from '../ui/avatar.tsx'
import { type Content, toForm } from './content.ts'
import styles from './differences.module.css'
import { compareWords } from './word-difference.ts'

interface ShownContent extends Content {
  /** Its picture; left out where contents without one are compared. */
  avatar?: string | null
}

/** Shows word by word what differs between two contents of an assistant, and their pictures. */
export function Differences({ before, after }: { before: ShownContent; after: ShownContent }) {
  const hasOtherPicture = (before.avatar ?? null) !== (after.avatar ?? null)
  const changes = listParts(before).flatMap(([label, earlier], at) => {
    const later = listParts(after)[at]?.[1] ?? ''
    return earlier === later ? [] : [{ label, earlier, later }]
  })
  if (changes.length === 0 && !hasOtherPicture) return <p className="hint">{t('app.assistants.noDifference')}</p>
  return (
    <dl className={styles.differences}>
      {hasOtherPicture && (
        <div>
          <dt>{t('app.settings.avatar')}</dt>
          <dd className={styles.pictures}>
            {before.avatar && (
              <Change kind="removed">
                <Avatar name={before.name} picture={before.avatar} />
              </Change>
            )}
            {after.avatar && (
              <Change kind="added">
                <Avatar name={after.name} picture={after.avatar} />
              </Change>
            )}
          </dd>
        </div>
      )}
      {changes.map(({ label, earlier, later }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd className="plain-text" dir="auto">
            <WordDifference before={earlier} after={later} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

const WordDifference = ({ before, after }: { before: string; after: string }) =>
  compareWords(before, after).map(({ kind, text }, at) =>
    kind === 'same' ? (
      text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their position.
      <Change key={at} kind={kind}>
        {text}
      </Change>
    ),
  )

/** Screen readers are told in words what was added and what was removed. */
function Change({ kind, children }: { kind: 'added' | 'removed'; children: ReactNode }) {
  const Mark = kind === 'added' ? 'ins' : 'del'
  return (
    <Mark>
      <span className="off-screen">{t(kind === 'added' ? 'app.assistants.added' : 'app.assistants.removed')}</span>
      {children}
    </Mark>
  )
}

/** The parts of a content as texts, in the order of the form. */
function listParts(content: Content): readonly (readonly [label: string, text: string])[] {
  const form = toForm('', content)
  const orUsual = (value: string) => value || t('app.options.usual')
  return [
    [t('app.name'), form.name],
    [t('app.assistants.description'), form.description],
    [t('app.assistants.details'), form.detailDescription],
    [t('app.assistants.tags'), form.tags],
    [t('app.options.prompt'), form.systemPrompt],
    [t('app.model'), form.model],
    [t('app.assistants.fallback'), form.fallback.join('\n')],
    [t('app.assistants.allowModelSelect'), t(form.allowModelSelect ? 'app.assistants.yes' : 'app.assistants.no')],
    [t('app.options.temperature'), orUsual(form.temperature)],
    [t('app.assistants.topP'), orUsual(form.topP)],
    [t('app.options.length'), orUsual(form.maxTokens)],
    [t('app.assistants.tools'), form.tools?.join('\n') ?? t('app.assistants.allTools')],
    [t('app.assistants.knowledge'), describeKnowledge(form.knowledge)],
    [t('app.assistants.greeting'), form.greeting],
    [t('app.assistants.starters'), form.starters.join('\n')],
  ]
}

const describeKnowledge = (id: number | null): string =>
  id === null ? '' : t('app.assistants.knowledgeNumber', { number: id })
