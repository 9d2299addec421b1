import { type ReactNode, useRef } from 'react'
import { t } from '../shared/text/labels.ts'
import { Outcome, useAction } from '../shared/ui/action-form.tsx'
import { Button } from '../shared/ui/button.tsx'
import { type Confirmation, ConfirmButton } from '../shared/ui/confirm-button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import styles from './item-list.module.css'
import { SettingsSection } from './settings-section.tsx'

interface Item {
  key: string | number
  name: string
  /** The name as a link to the page of the item. */
  link?: ReactNode
  details: readonly string[]
  /** The reason why the item does not do all that it was made for. */
  warning?: string | undefined
  /** An action beside the removal; returns a text about its result. */
  action?: { text: string; run: () => Promise<string | undefined> } | undefined
  /** Removes the item; returns a text about the result. */
  remove?: (() => Promise<string | undefined>) | undefined
  /** The label of its remove button, unless it is that of the list. */
  removeText?: string
  /** The question that is asked first. */
  confirmation?: Confirmation | undefined
}

/** The removal of all items at once. */
interface RemovalOfAll {
  text: string
  confirmation: Confirmation
  /** Returns a text about the result. */
  run: () => Promise<string>
}

interface ItemListProps {
  title: string
  intro: string
  /** Undefined while they are loading. */
  items: readonly Item[] | undefined
  error: unknown
  /** The text of an empty list. */
  none: string
  /** The label of each remove button. */
  removeText?: string
  removeAll?: RemovalOfAll | undefined
  children?: ReactNode
}

/** A section with a list of items that can be removed. */
export function ItemList({ title, intro, items, error, none, removeText = '', removeAll, children }: ItemListProps) {
  const titleRef = useRef<HTMLHeadingElement>(null)
  const { outcome, isWrong, run } = useAction()
  const removeItem = (remove: () => Promise<string | undefined>) =>
    run(async () => {
      const text = await remove()
      titleRef.current?.focus()
      return text
    })
  return (
    <SettingsSection title={title} titleRef={titleRef}>
      <p>{intro}</p>
      {error && !items ? (
        <ErrorMessage error={error} />
      ) : (
        <ul className={styles.items} aria-label={title} aria-busy={items === undefined}>
          {items?.length === 0 && <li>{none}</li>}
          {items?.map(({ key, ...item }) => (
            <ItemRow key={key} removeText={removeText} {...item} act={run} removeItem={removeItem} />
          ))}
        </ul>
      )}
      {removeAll && (
        <Toolbar>
          <ConfirmButton kind="danger" confirmation={removeAll.confirmation} act={() => removeItem(removeAll.run)}>
            {removeAll.text}
          </ConfirmButton>
        </Toolbar>
      )}
      <Outcome outcome={outcome} isWrong={isWrong} />
      {children}
    </SettingsSection>
  )
}

interface ItemRowProps extends Omit<Item, 'key'> {
  act: (action: () => Promise<string | undefined>) => Promise<void>
  removeItem: (remove: () => Promise<string | undefined>) => Promise<void>
}

function ItemRow(props: ItemRowProps) {
  const { name, link = name, details, warning, action, remove, removeText = '', confirmation, act, removeItem } = props
  return (
    <li>
      <div>
        <strong>{link}</strong>
        {details.map((detail) => (
          <p key={detail}>{detail}</p>
        ))}
        {warning !== undefined && <p className="error">{warning}</p>}
      </div>
      {action && (
        <Button
          aria-label={t('app.settings.itemButton', { action: action.text, name })}
          onClick={() => act(action.run)}
        >
          {action.text}
        </Button>
      )}
      {remove && (
        <ConfirmButton
          label={t('app.settings.itemButton', { action: removeText, name })}
          confirmation={confirmation}
          act={() => removeItem(remove)}
        >
          {removeText}
        </ConfirmButton>
      )}
    </li>
  )
}
