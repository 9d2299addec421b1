import { Menu } from '@base-ui/react/menu'
import { useState } from 'react'
import { t } from '../shared/text/labels.ts'
import { Icon } from '../shared/ui/icon.tsx'
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
        <Menu.Root>
          <Menu.Trigger className="icon-button row-menu" aria-label={t('app.folder.more', { name })}>
            <Icon name="more" />
          </Menu.Trigger>
          <Menu.Portal>
            <Menu.Positioner sideOffset={4} className="positioner">
              <Menu.Popup className="popup">
                <Menu.Item className="menu-item" onClick={() => setRenaming(true)}>
                  <Icon name="edit" /> {t('app.rename')}
                </Menu.Item>
                <Menu.Item className="menu-item" onClick={() => changeFolder(name, null)}>
                  <Icon name="close" /> {t('app.folder.dissolve')}
                </Menu.Item>
              </Menu.Popup>
            </Menu.Positioner>
          </Menu.Portal>
        </Menu.Root>
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
