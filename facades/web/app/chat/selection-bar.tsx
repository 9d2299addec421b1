import { useEffect, useState } from 'react'
import type { Conversation } from '../shared/api/client.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { IconButton } from '../shared/ui/icon-button.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import { NameDialog } from '../shared/ui/name-dialog.tsx'
import { focusListSearch } from '../shared/ui/side-list.tsx'
import { exportConversations } from './conversation-export.ts'
import { useListAction } from './conversation-row.tsx'
import { MAX_SELECTED, selection } from './conversation-selection.ts'
import { useFolders } from './conversations.ts'
import { archiveConversations, discardConversations, moveConversations, restoreFromArchive } from './removals.ts'
import styles from './selection-bar.module.css'

interface SelectionBarProps {
  selected: readonly Conversation[]
  /** The conversations of the list, which can be selected together. */
  listed: readonly Conversation[]
  /** Leaves a conversation that is no longer in the list, if it is shown. */
  leave: (conversations: readonly Conversation[]) => void
}

/** Ends the selection by the escape key, unless that closes something else. */
function useEndByEscape(end: () => void): void {
  useEffect(() => {
    const listen = ({ key, defaultPrevented }: KeyboardEvent) => {
      if (key !== 'Escape' || defaultPrevented || document.querySelector('[role="dialog"], [role="menu"]')) return
      end()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  })
}

type Change = (conversations: readonly Conversation[]) => Promise<void>

/** Returns the actions on the selected conversations. They end the selection when they have succeeded. */
function useSelectionActions({ selected, leave }: Omit<SelectionBarProps, 'listed'>) {
  const { conversationKey: key } = useSession()
  const [saved, setSaved] = useState<number>()
  const run = useListAction()
  const end = () => {
    selection.end()
    focusListSearch()
  }
  useEndByEscape(end)
  return {
    /** The number of saved conversations, while they are being saved. */
    saved,
    end,
    change: (change: Change) => run(change(selected).then(end)),
    remove: (change: Change) =>
      run(
        change(selected).then(() => {
          leave(selected)
          end()
        }),
      ),
    save: (kind: 'md' | 'json') =>
      run(exportConversations(key, selected, kind, setSaved).finally(() => setSaved(undefined))),
  }
}

/** The actions on the selected conversations. */
export function SelectionBar(props: SelectionBarProps) {
  const { selected, listed } = props
  const actions = useSelectionActions(props)
  const [isMoving, setMoving] = useState(false)
  const { saved, end, change, remove, save } = actions
  const count = selected.length
  const isNone = count === 0
  const areArchived = !isNone && selected.every(({ isArchived }) => isArchived)
  return (
    <div className={styles.bar} role="toolbar" aria-label={t('app.selection')}>
      <span className={styles.count} role="status">
        {saved === undefined
          ? t(count < MAX_SELECTED ? 'app.selection.count' : 'app.selection.most', { count })
          : t('app.selection.saving', { number: saved, total: count })}
      </span>
      <IconButton
        icon={areArchived ? 'undo' : 'archive'}
        label={t(areArchived ? 'app.archive.leave' : 'app.archive.enter')}
        disabled={isNone}
        onClick={() => (areArchived ? change(restoreFromArchive) : remove(archiveConversations))}
      />
      <IconButton icon="folder" label={t('app.folder.move')} disabled={isNone} onClick={() => setMoving(true)} />
      <IconButton icon="trash" label={t('app.delete')} disabled={isNone} onClick={() => remove(discardConversations)} />
      <MenuButton label={t('app.selection.more')} items={listMore(isNone, listed, save)} />
      <IconButton icon="close" label={t('app.selection.end')} onClick={end} />
      {isMoving && <MoveDialog selected={selected} end={end} close={() => setMoving(false)} />}
    </div>
  )
}

function listMore(
  isNone: boolean,
  listed: readonly Conversation[],
  save: (kind: 'md' | 'json') => void,
): readonly MenuEntry[] {
  const all: MenuEntry = {
    icon: 'check',
    label: t(listed.length > MAX_SELECTED ? 'app.selection.first' : 'app.selection.all', { count: MAX_SELECTED }),
    choose: () => selection.add(listed),
  }
  if (isNone) return [all]
  return [
    all,
    { icon: 'arrowDown', label: t('app.export.markdown'), choose: () => save('md') },
    { icon: 'arrowDown', label: t('app.export.json'), choose: () => save('json') },
  ]
}

interface MoveDialogProps {
  selected: readonly Conversation[]
  end: () => void
  close: () => void
}

/** Moves the conversations to a folder, and says how many they are. */
function MoveDialog({ selected, end, close }: MoveDialogProps) {
  const folders = useFolders()
  const move = async (folder: string) => {
    await moveConversations(selected, folder)
    end()
  }
  return (
    <NameDialog
      title={t('app.selection.move', { count: selected.length })}
      name=""
      hint={t('app.folder.hint')}
      suggestions={folders.map(({ name }) => name)}
      save={move}
      close={close}
    />
  )
}
