import { useState } from 'react'
import { t } from '../shared/text/labels.ts'
import { Icon } from '../shared/ui/icon.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import { NameDialog } from '../shared/ui/name-dialog.tsx'
import { ConversationRow } from './conversation-row.tsx'
import { changeFolder, useFolder } from './conversations.ts'

interface FolderProps {
  folder: { name: string; count: number }
  onChoose: () => void
}

/** A folder, which shows what lies in it when it is opened. */
export function Folder({ folder: { name, count }, onChoose }: FolderProps) {
  const [isOpen, setOpen] = useState(false)
  const [isRenaming, setRenaming] = useState(false)
  const conversations = useFolder(name, isOpen)
  return (
    <section className="folder">
      <div className="folder-head">
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name="folder" />
          <span dir="auto">{name}</span>
          <span className="hint">{count}</span>
        </button>
        <MenuButton
          label={t('app.folder.more', { name })}
          className="row-menu"
          items={[
            { icon: 'edit', label: t('app.rename'), choose: () => setRenaming(true) },
            { icon: 'close', label: t('app.folder.dissolve'), choose: () => changeFolder(name, null) },
          ]}
        />
      </div>
      {isOpen && (
        <ul>
          {conversations.map((each) => (
            <ConversationRow key={each.slug} conversation={each} onChoose={onChoose} />
          ))}
        </ul>
      )}
      {isRenaming && (
        <NameDialog
          title={t('app.folder.rename')}
          name={name}
          save={(newName) => changeFolder(name, newName)}
          close={() => setRenaming(false)}
        />
      )}
    </section>
  )
}
