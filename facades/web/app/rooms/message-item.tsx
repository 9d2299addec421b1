import { memo, useState } from 'react'
import { describeError } from '../shared/api/error-text.ts'
import { insertQuotation } from '../shared/conversation/composer.tsx'
import { MessageActions } from '../shared/conversation/message-actions.tsx'
import { MessageText, MessageView, UnreadableNote } from '../shared/conversation/message-view.tsx'
import { formatTime, formatTimestamp } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Avatar } from '../shared/ui/avatar.tsx'
import { Button } from '../shared/ui/button.tsx'
import { joinClasses } from '../shared/ui/class-names.ts'
import { CopyButton, useCopy } from '../shared/ui/copy-button.tsx'
import { EditForm } from '../shared/ui/edit-form.tsx'
import { InlineError } from '../shared/ui/error-message.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { getMessageAddress } from './linked-message.ts'
import styles from './message-item.module.css'
import { MessageReactions, ReactionPicker } from './message-reactions.tsx'
import type { OutgoingMessage } from './message-sender.ts'
import { canWrite, type Disclosure } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { RoomFileList } from './room-file-list.tsx'
import { getAskerName, getPicture } from './room-members.ts'
import type { RoomMessage } from './room-message.ts'

interface MessageItemProps {
  message: RoomMessage
  /** True if it follows a message of the same author so closely that the name is not repeated. */
  isContinued?: boolean
  isHighlighted?: boolean
  /** True within the thread panel, where no other thread opens. */
  isInThread?: boolean
}

/** A message in a room. */
export const MessageItem = memo(
  ({ message, isContinued = false, isHighlighted = false, isInThread = false }: MessageItemProps) => {
    const { store } = useRoom()
    const isOwn = useIsOwn(message)
    const getAuthorName = useAuthorName()
    const [isEditing, setEditing] = useState(false)
    const name = isOwn ? null : getAuthorName(message)
    const at = new Date(message.createdAt)
    const facts = (
      <>
        <time dateTime={message.createdAt} title={formatTimestamp(at)}>
          {formatTime(at)}
        </time>
        {message.editedAt !== null && !message.isDeleted && <span className="hint">{t('app.rooms.edited')}</span>}
      </>
    )
    const classes = joinClasses(styles.message, isContinued && styles.continuation)
    return (
      <MessageView id={`message-${message.id}`} className={classes} name={name} facts={facts} isTarget={isHighlighted}>
        {!isContinued && <AuthorPicture message={message} />}
        {isEditing ? (
          <EditForm
            label={t('app.rooms.edit')}
            text={message.text}
            action={t('app.save')}
            save={(text) => store.sender?.edit(message.id, text)}
            close={() => setEditing(false)}
          />
        ) : (
          <SourceBoundary source={message.text}>
            <MessageBody message={message} />
          </SourceBoundary>
        )}
        <SourceBoundary source={message.files.map(({ name }) => name).join('\n')}>
          <RoomFileList files={message.files} />
        </SourceBoundary>
        {!message.isDeleted && <MessageReactions message={message.id} />}
        {!isInThread && message.replyCount > 0 && <RepliesButton message={message} />}
        {!message.isDeleted && !isEditing && (
          <ItemActions message={message} isInThread={isInThread} edit={() => setEditing(true)} />
        )}
      </MessageView>
    )
  },
)

/** The picture of a member or former member. Models have none. */
function AuthorPicture({ message: { member, authorName, authorPicture, model } }: { message: RoomMessage }) {
  const picture = useRoomView(({ members }) => (members.has(member) ? getPicture(members.get(member)) : authorPicture))
  return model === null ? (
    <Avatar name={authorName} picture={picture} className={styles.avatar} />
  ) : (
    <Avatar name="" icon="sparkle" className={styles.avatar} />
  )
}

const useIsOwn = ({ member }: RoomMessage) => useRoomView(({ ownMember }) => ownMember?.id === member)

const useCanWrite = () => useRoomView(({ room }) => room !== undefined && canWrite(room))

const useDisclosure = ({ id }: RoomMessage) =>
  useRoomView(({ disclosures }) => disclosures.find(({ answer }) => answer === id))

/** Returns a function that names the author of a message: a person, or the model or assistant that answered. */
export function useAuthorName(): (message: Pick<RoomMessage, 'authorName' | 'model' | 'assistant'>) => string {
  const { getModelName } = useRoom()
  return ({ authorName, model, assistant }) =>
    model === null ? authorName || t('app.rooms.somebody') : getModelName(model, assistant)
}

const unreadableLabels = {
  missing: 'app.rooms.closed.missing',
  earlier: 'app.rooms.closed.earlier',
  damaged: 'app.rooms.closed.damaged',
} as const

function MessageBody({ message: { text, model, sources, unreadable, isDeleted, keyEpoch } }: { message: RoomMessage }) {
  if (isDeleted) return <p className={styles.deletion}>{t('app.rooms.deleted')}</p>
  if (unreadable !== undefined) return <UnreadableNote reason={t(unreadableLabels[unreadable], { number: keyEpoch })} />
  return (
    <div dir="auto">
      <MessageText text={text} sources={sources} hasLineBreaks={model === null} />
    </div>
  )
}

function RepliesButton({ message: { id, replyCount } }: { message: RoomMessage }) {
  const { showThread } = useRoom()
  return (
    <Button kind="plain" className={styles.replies} onClick={() => showThread(id)}>
      <Icon name="reply" /> {t('app.rooms.replies', { count: replyCount })}
    </Button>
  )
}

interface ItemActionsProps {
  message: RoomMessage
  isInThread: boolean
  edit: () => void
}

/** The buttons and the menu of a message. */
function ItemActions({ message, isInThread, edit }: ItemActionsProps) {
  const { store, showThread } = useRoom()
  const [dialog, setDialog] = useState<'delete' | 'disclosure'>()
  const close = () => setDialog(undefined)
  const { isCopied, error: copyError, copy } = useCopy()
  const copyLink = () => copy(getMessageAddress(store.view.room?.slug ?? '', message))
  const [error, setError] = useState<unknown>()
  const markUnread = () => {
    setError(undefined)
    store.markUnread(message.id).catch(setError)
  }
  const items = useMessageMenu({ message, isInThread, edit, copyLink, markUnread, openDialog: setDialog })
  const disclosure = useDisclosure(message)
  const isWriter = useCanWrite()
  return (
    <MessageActions isFloating>
      <span className="hint" role="status">
        {isCopied && t('app.linkCopied')}
      </span>
      <InlineError error={copyError ?? error} />
      {isWriter && <ReactionPicker message={message.id} />}
      {isWriter && !isInThread && (
        <IconButton icon="reply" label={t('app.rooms.reply')} onClick={() => showThread(message.id)} />
      )}
      {message.text !== '' && <CopyButton text={message.text} label={t('app.message.copy')} />}
      <MenuButton label={t('app.message.more')} items={items} />
      {dialog === 'delete' && (
        <FormDialog
          title={t('app.rooms.deleteMessage')}
          action={t('app.delete')}
          isDangerous
          save={() => store.delete(message.id)}
          close={close}
        >
          <p>{t('app.rooms.deleteMessageText')}</p>
        </FormDialog>
      )}
      {dialog === 'disclosure' && disclosure && <DisclosureDialog disclosure={disclosure} close={close} />}
    </MessageActions>
  )
}

interface MessageMenuProps extends ItemActionsProps {
  copyLink: () => void
  markUnread: () => void
  openDialog: (dialog: 'delete' | 'disclosure') => void
}

function useMessageMenu({
  message,
  isInThread,
  edit,
  copyLink,
  markUnread,
  openDialog,
}: MessageMenuProps): MenuEntry[] {
  const getAuthorName = useAuthorName()
  const isAuthor = useIsOwn(message)
  const isWriter = useCanWrite()
  const isAdmin = useRoomView(({ room }) => room?.role === 'admin')
  const disclosure = useDisclosure(message)
  const isReadable = message.unreadable === undefined
  const quoteMessage = () =>
    insertQuotation(isInThread ? 'thread' : 'room', `**${getAuthorName(message)}:**\n${message.text}`)
  const entries: [boolean, MenuEntry][] = [
    [true, { icon: 'link', label: t('app.rooms.copyMessageLink'), choose: copyLink }],
    [!isAuthor && !isInThread, { icon: 'unread', label: t('app.rooms.markUnread'), choose: markUnread }],
    [isWriter && isReadable, { icon: 'quote', label: t('app.message.quote'), choose: quoteMessage }],
    [
      disclosure !== undefined,
      { icon: 'eye', label: t('app.rooms.disclosed'), choose: () => openDialog('disclosure') },
    ],
    [isAuthor && isWriter && isReadable, { icon: 'edit', label: t('app.rooms.edit'), choose: edit }],
    [
      (isAuthor && isWriter) || isAdmin,
      { icon: 'trash', label: t('app.delete'), isDangerous: true, choose: () => openDialog('delete') },
    ],
  ]
  return entries.flatMap(([isOffered, entry]) => (isOffered ? [entry] : []))
}

/** Shows the data that a model received for an answer. */
function DisclosureDialog({ disclosure, close }: { disclosure: Disclosure; close: () => void }) {
  const { getModelName } = useRoom()
  const members = useRoomView((view) => view.members)
  const byId = useRoomView((view) => view.byId)
  const { model, assistant, provider, parts, knowledge, createdAt } = disclosure
  const texts = parts.filter(({ kind }) => kind === 'text')
  const files = parts.filter(({ kind }) => kind !== 'text')
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  const quoted = parts.flatMap(({ message }) => (message === null ? [] : (byId.get(message) ?? [])))
  return (
    <FormDialog title={t('app.rooms.disclosed')} close={close}>
      <p>
        {t('app.rooms.disclosedText', {
          asker: getAskerName(disclosure, members),
          model: getModelName(model),
          provider,
          at: formatTimestamp(new Date(createdAt)),
        })}
        {assistant !== null &&
          ` ${t('app.rooms.disclosedToAssistant', { name: getModelName(model, assistant), label: `@${assistant}` })}`}
      </p>
      <ul>
        <li>{t('app.rooms.disclosedMessages', { count: texts.length })}</li>
        {files.length > 0 && <li>{t('app.rooms.disclosedFiles', { count: files.length })}</li>}
        <li>{t('app.rooms.disclosedBytes', { count: bytes })}</li>
        {knowledge && <li>{t('app.rooms.disclosedPassages', { count: knowledge.passages })}</li>}
      </ul>
      {knowledge?.embedding && <p>{t('app.rooms.disclosedSearches', knowledge.embedding)}</p>}
      {quoted.length > 0 && (
        <ul className={styles.quotations}>
          {[...new Set(quoted)].map(({ id, authorName, text, model: by, assistant: asked }) => (
            <li key={id} dir="auto">
              <strong>{by === null ? authorName : getModelName(by, asked)}</strong> {text.slice(0, 120)}
            </li>
          ))}
        </ul>
      )}
    </FormDialog>
  )
}

/** A message that is not stored yet. */
export const OutgoingItem = memo(({ message: { queued, text, state, error } }: { message: OutgoingMessage }) => {
  const { store } = useRoom()
  const label = { sending: 'app.rooms.sending', waiting: 'app.rooms.waiting', failed: 'app.rooms.notSent' }[state]
  const facts = (
    <span className={state === 'failed' ? 'error' : 'hint'} role="status">
      {t(label)}
    </span>
  )
  return (
    <MessageView className={styles.message} name={null} facts={facts}>
      <div className={styles.draft} dir="auto">
        <MessageText text={text} hasLineBreaks />
      </div>
      {queued.attachments.length > 0 && (
        <p className="hint">{t('app.rooms.filesWaiting', { count: queued.attachments.length })}</p>
      )}
      {state === 'failed' && (
        <p className={styles.failure}>
          <span className="error">{describeError(error)}</span>
          <Button onClick={() => store.sender?.retry(queued.clientId)}>{t('app.tryAgain')}</Button>
          <Button onClick={() => store.sender?.discard(queued.clientId)}>{t('app.rooms.discard')}</Button>
        </p>
      )}
    </MessageView>
  )
})
