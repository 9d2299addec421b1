import { type KeyboardEvent, type RefObject, useId, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import type { Completion } from '../../shared/conversation/composer.tsx'
import { t } from '../../shared/text/labels.ts'
import { foldText } from '../../shared/text/word-pattern.ts'
import { ErrorNotice } from '../../shared/ui/error-message.tsx'
import { Icon } from '../../shared/ui/icon.tsx'
import { ManagePrompts } from './manage-prompts.tsx'
import styles from './prompt-completion.module.css'
import { PromptForm } from './prompt-form.tsx'
import { fillPrompt, listVariables } from './prompt-text.ts'
import { type Prompt, usePrompts } from './prompts.ts'

interface PromptCompletionProps {
  /** The characters after the slash, by which prompts are found. */
  typed: string
  /** The text before the caret, and after it. */
  before: string
  after: string
  field: RefObject<HTMLTextAreaElement | null>
  write: (text: string) => void
  /** Is given what handles the keys of the field. */
  report: (completion: Completion | undefined) => void
}

const MAX_SUGGESTIONS = 6

/** The entry that opens the own prompts, which comes last. */
const MANAGE = 'manage'

type Entry = Prompt | typeof MANAGE

/** Suggests prompts for what is typed after a slash, fills in their variables, and inserts them. Nothing is sent. */
export function PromptCompletion({ typed, before, after, field, write, report }: PromptCompletionProps) {
  const { data: prompts = [], error } = usePrompts()
  const [opened, setOpened] = useState<Entry>()
  const insert = (text: string) => {
    const start = before.slice(0, before.length - typed.length - 1)
    setOpened(undefined)
    // The field has the new text at once, so that the caret is set before anything else is typed.
    flushSync(() => write(`${start}${text}${after}`))
    const caret = start.length + text.length
    field.current?.focus()
    field.current?.setSelectionRange(caret, caret)
  }
  const choose = (entry: Entry) => {
    if (entry === MANAGE || listVariables(entry.text).length > 0) setOpened(entry)
    else insert(fillPrompt(entry.text, new Map(), today()))
  }
  const close = () => setOpened(undefined)
  return (
    <>
      <ErrorNotice error={error} />
      {opened === undefined && (
        <PromptList
          entries={[...findPrompts(prompts, typed), MANAGE]}
          before={before}
          choose={choose}
          report={report}
        />
      )}
      {opened === MANAGE && <ManagePrompts close={close} />}
      {opened !== undefined && opened !== MANAGE && (
        <PromptForm
          prompt={opened}
          insert={(values) => insert(fillPrompt(opened.text, values, today()))}
          close={close}
        />
      )}
    </>
  )
}

interface PromptListProps extends Pick<PromptCompletionProps, 'before' | 'report'> {
  entries: readonly Entry[]
  choose: (entry: Entry) => void
}

/** The suggestions above the field, which keeps the focus and passes its keys on. */
function PromptList({ entries, before, choose, report }: PromptListProps) {
  const listId = useId()
  const [choice, setChoice] = useState({ for: '', active: 0, isClosed: false })
  const { active, isClosed } = choice.for === before ? choice : { active: 0, isClosed: false }
  const highlight = (index: number) =>
    setChoice({ for: before, active: (index + entries.length) % entries.length, isClosed: false })
  const chooseActive = () => choose(entries[active] ?? MANAGE)
  const keys: Record<string, () => void> = {
    ArrowDown: () => highlight(active + 1),
    ArrowUp: () => highlight(active - 1),
    Escape: () => setChoice({ for: before, active, isClosed: true }),
    Enter: chooseActive,
    Tab: chooseActive,
  }
  const latestKeys = useRef(keys)
  latestKeys.current = keys
  useLayoutEffect(() => {
    report(isClosed ? undefined : { listId, activeId: `${listId}-${active}`, handleKey: createKeyHandler(latestKeys) })
    return () => report(undefined)
  }, [isClosed, listId, active, report])
  if (isClosed) return null
  return (
    <div id={listId} role="listbox" className={styles.list} aria-label={t('app.prompts')}>
      {entries.map((entry, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
        <div
          key={entry === MANAGE ? MANAGE : entry.key}
          id={`${listId}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          className={styles.entry}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => choose(entry)}
        >
          <PromptEntry entry={entry} />
        </div>
      ))}
    </div>
  )
}

const PromptEntry = ({ entry }: { entry: Entry }) =>
  entry === MANAGE ? (
    <>
      <Icon name="settings" />
      <span>{t('app.prompts.manage')}</span>
    </>
  ) : (
    <>
      <Icon name={entry.ownId === undefined ? 'people' : 'edit'} />
      <span className={styles.name} dir="auto">
        {entry.name}
      </span>
      <span className={styles.text} dir="auto">
        {entry.text}
      </span>
    </>
  )

const createKeyHandler =
  (keys: RefObject<Record<string, () => void>>) =>
  (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    const act = event.shiftKey || event.nativeEvent.isComposing ? undefined : keys.current[event.key]
    if (!act) return
    event.preventDefault()
    event.stopPropagation()
    act()
  }

/** Returns prompts whose names have what is typed, first those that begin with it; those of administrators come first. */
function findPrompts(prompts: readonly Prompt[], typed: string): readonly Prompt[] {
  const needle = foldText(typed.trim())
  const begins = ({ name }: Prompt) => foldText(name).startsWith(needle)
  return prompts
    .filter(({ name, text }) => text !== '' && foldText(name).includes(needle))
    .toSorted((one, other) => Number(begins(other)) - Number(begins(one)))
    .slice(0, MAX_SUGGESTIONS)
}

const today = () => new Date().toLocaleDateString(document.documentElement.lang || undefined, { dateStyle: 'long' })
