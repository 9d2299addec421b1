import { type ReactNode, useEffect, useState } from 'react'
import { saveFile } from '../shared/save-file.ts'
import { Button } from '../shared/ui/button.tsx'
import type { Archive, Row } from './archive.ts'
import styles from './archive-parts.module.css'
import type { Message, Opener, Room } from './opener.ts'
import { fillText, formatMoment, formatSize, texts } from './texts.ts'

interface PartProps {
  archive: Archive
  opener: Opener
}

const parts = ['conversations', 'shared', 'rooms', 'files', 'everything'] as const
type Part = (typeof parts)[number]

/** An open archive, with its parts. */
export function Parts(props: PartProps) {
  const [part, setPart] = useState<Part>('conversations')
  const Content = partContents[part]
  return (
    <>
      <nav className={styles.tabs} aria-label={texts.parts}>
        {parts.map((name) => (
          <button key={name} type="button" aria-current={name === part} onClick={() => setPart(name)}>
            {texts[name]}
          </button>
        ))}
      </nav>
      <section aria-labelledby="part">
        <h2 id="part">{texts[part]}</h2>
        <Content {...props} />
      </section>
    </>
  )
}

const partContents: Record<Part, (props: PartProps) => ReactNode> = {
  conversations: Conversations,
  shared: SharedCopies,
  rooms: Rooms,
  files: Files,
  everything: Everything,
}

function Conversations({ opener }: PartProps) {
  return (
    <ThreadBrowser
      read={() => opener.readConversations()}
      describe={({ updatedAt }) => formatMoment(updatedAt)}
      open={({ id }) => opener.readConversation(id)}
    />
  )
}

function SharedCopies({ opener }: PartProps) {
  return (
    <ThreadBrowser
      read={() => opener.readSharedLinks()}
      describe={({ sharedAt }) => formatMoment(sharedAt)}
      open={(link) => opener.readSharedCopy(link)}
      note={texts.sharedCopy}
    />
  )
}

function Rooms({ archive, opener }: PartProps) {
  return (
    <ThreadBrowser
      read={() => archive.readAllRows<Room & { createdAt: string }>('rooms')}
      describe={({ createdAt }) => formatMoment(createdAt)}
      open={(room) => opener.readRoom(room)}
      note={texts.ownOnly}
    />
  )
}

interface ThreadBrowserProps<Attributes extends { name: string }> {
  read: () => Promise<Row<Attributes>[]>
  describe: (attributes: Attributes) => string
  open: (row: Row<Attributes>) => Promise<Message[]>
  note?: string
}

/** A list of conversations, of copies that were shared or of rooms, one of which can be opened. */
function ThreadBrowser<Attributes extends { name: string }>({
  read,
  describe,
  open,
  note,
}: ThreadBrowserProps<Attributes>) {
  const [shown, setShown] = useState<Row<Attributes>>()
  const rows = useRead(read)
  if (shown)
    return (
      <>
        <p>
          <Button onClick={() => setShown(undefined)}>{texts.back}</Button>
        </p>
        <h3 className={styles.title}>{shown.attributes.name}</h3>
        {note && <p className="hint">{note}</p>}
        <Messages read={() => open(shown)} />
      </>
    )
  return (
    <RowsOrStatus rows={rows}>
      {(found) => (
        <ul className={styles.rows}>
          {found.map((row) => (
            <li key={row.id}>
              <button type="button" className={styles.row} onClick={() => setShown(row)}>
                <strong>{row.attributes.name}</strong>
                <span className="hint">{describe(row.attributes)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </RowsOrStatus>
  )
}

function Messages({ read }: { read: () => Promise<Message[]> }) {
  return (
    <RowsOrStatus rows={useRead(read)}>
      {(messages) => (
        <ol className={styles.rows}>
          {messages.map(({ id, author, at, text, reactionTo, files = [] }) => (
            <li key={id} className={author === 'self' ? styles.ownMessage : styles.message}>
              <p className="hint">
                {[texts[author], formatMoment(at), reactionTo && reactionTexts[reactionTo]].filter(Boolean).join(' · ')}
              </p>
              {text === undefined ? <p className="error">{texts.locked}</p> : <p className={styles.text}>{text}</p>}
              {files.map(({ name, content }, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a copy does not change.
                <Button key={index} onClick={() => saveFile(content, name)}>
                  {fillText(texts.saveFile, { name })}
                </Button>
              ))}
            </li>
          ))}
        </ol>
      )}
    </RowsOrStatus>
  )
}

const reactionTexts = { own: texts.reactedToOwn, other: texts.reacted }

interface StoredFile {
  name: string
  bytes: number
  mime: string
  clientEncrypted: boolean
}

function Files({ archive, opener }: PartProps) {
  const rows = useRead(() => archive.readAllRows<StoredFile>('attachments'))
  const [failed, setFailed] = useState<string>()
  const save = (row: Row<StoredFile>) => {
    setFailed(undefined)
    opener.readFile(row).then(
      (content) => saveFile(content, row.attributes.name),
      () => setFailed(row.id),
    )
  }
  const isDamaged = ({ id }: Row<StoredFile>) =>
    archive.manifest.damagedFiles.includes(archive.manifest.files[id] ?? '')
  return (
    <RowsOrStatus rows={rows}>
      {(files) => (
        <ul className={styles.rows}>
          {files.map((row) => (
            <li key={row.id} className={styles.file}>
              <div>
                <strong>{row.attributes.name}</strong>
                <p className="hint">{formatSize(row.attributes.bytes)}</p>
                {isDamaged(row) && <p className="error">{texts.damaged}</p>}
                {failed === row.id && (
                  <p className="error" role="alert">
                    {texts.failed}
                  </p>
                )}
              </div>
              <Button aria-label={fillText(texts.saveFile, { name: row.attributes.name })} onClick={() => save(row)}>
                {texts.save}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </RowsOrStatus>
  )
}

function Everything({ archive }: PartProps) {
  return (
    <>
      {Object.entries(archive.manifest.types).map(
        ([type, { rows }]) => rows > 0 && <TypeRows key={type} archive={archive} type={type} count={rows} />,
      )}
    </>
  )
}

interface TypeProps {
  archive: Archive
  type: string
  count: number
}

/** Reads the rows when the section is opened. */
function TypeRows({ archive, type, count }: TypeProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className={styles.type} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {type} <span className="hint">{fillText(texts.rows, { count })}</span>
      </summary>
      {isOpen && <Rows archive={archive} type={type} count={count} />}
    </details>
  )
}

const PAGE_SIZE = 20

function Rows({ archive, type, count }: TypeProps) {
  const [size, setSize] = useState(PAGE_SIZE)
  const rows = useRead(async () => {
    const first: Row[] = []
    for await (const row of archive.readRows<Record<string, unknown>>(type)) {
      if (first.length === size) break
      first.push(row)
    }
    return first
  }, size)
  return (
    <RowsOrStatus rows={rows}>
      {(found) => (
        <>
          {found.map(({ id, attributes }) => (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard.
            <pre key={id} tabIndex={0}>
              {JSON.stringify({ id, ...attributes }, null, 2)}
            </pre>
          ))}
          {found.length < count && (
            <p>
              <Button onClick={() => setSize(size + PAGE_SIZE)}>{texts.more}</Button>
            </p>
          )}
        </>
      )}
    </RowsOrStatus>
  )
}

/** Reads once, and again when `key` changes. */
function useRead<T>(read: () => Promise<T[]>, key: unknown = 0): T[] | 'failed' | undefined {
  const [rows, setRows] = useState<T[] | 'failed'>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key changes with the function.
  useEffect(() => {
    let isShown = true
    read().then(
      (found) => isShown && setRows(found),
      () => isShown && setRows('failed'),
    )
    return () => {
      isShown = false
    }
  }, [key])
  return rows
}

interface RowsOrStatusProps<T> {
  rows: T[] | 'failed' | undefined
  children: (rows: T[]) => ReactNode
}

function RowsOrStatus<T>({ rows, children }: RowsOrStatusProps<T>) {
  if (rows === undefined) return <p aria-busy="true">{texts.opening}</p>
  if (rows === 'failed')
    return (
      <p className="error" role="alert">
        {texts.failed}
      </p>
    )
  return rows.length === 0 ? <p>{texts.none}</p> : children(rows)
}
