import { t } from '../shared/text/labels.ts'
import type { Content } from './content.ts'
import styles from './differences.module.css'
import { compareWords } from './word-difference.ts'

/** Shows word by word what differs between two contents of an assistant. */
export function Differences({ before, after }: { before: Content; after: Content }) {
  const changes = listParts(before).flatMap(([label, earlier], at) => {
    const later = listParts(after)[at]?.[1] ?? ''
    return earlier === later ? [] : [{ label, earlier, later }]
  })
  if (changes.length === 0) return <p className="hint">{t('app.assistants.noDifference')}</p>
  return (
    <dl className={styles.differences}>
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

/** Screen readers are told in words what was added and what was removed. */
const WordDifference = ({ before, after }: { before: string; after: string }) =>
  compareWords(before, after).map(({ kind, text }, at) => {
    if (kind === 'same') return text
    const Change = kind === 'added' ? 'ins' : 'del'
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their position.
      <Change key={at}>
        <span className="off-screen">{t(kind === 'added' ? 'app.assistants.added' : 'app.assistants.removed')}</span>
        {text}
      </Change>
    )
  })

/** The parts of a content as texts, in the order of the form. */
const listParts = (content: Content): readonly (readonly [label: string, text: string])[] => {
  const { name, description, systemPrompt, greeting, starters, model, fallback, parameters, tools } = content
  return [
    [t('app.name'), name],
    [t('app.assistants.description'), description ?? ''],
    [t('app.options.prompt'), systemPrompt ?? ''],
    [t('app.model'), model],
    [t('app.assistants.fallback'), (fallback ?? []).join('\n')],
    [t('app.options.temperature'), String(parameters?.temperature ?? t('app.options.usual'))],
    [t('app.assistants.topP'), String(parameters?.topP ?? t('app.options.usual'))],
    [t('app.options.length'), String(parameters?.maxTokens ?? t('app.options.usual'))],
    [t('app.assistants.tools'), tools ? tools.join('\n') : t('app.assistants.allTools')],
    [t('app.assistants.greeting'), greeting ?? ''],
    [t('app.assistants.starters'), (starters ?? []).join('\n')],
  ]
}
