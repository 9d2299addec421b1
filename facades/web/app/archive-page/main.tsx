import { type FormEvent, StrictMode, useId, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Archive } from './archive.ts'
import { Opener, WrongSecret } from './opener.ts'
import { Parts } from './parts.tsx'
import { fillText, formatMoment, locale, texts } from './texts.ts'
import './archive-page.css'

/** Opens an archive of a person's data in a browser, without a network. */
function ArchivePage() {
  const [archive, setArchive] = useState<Archive>()
  const [opener, setOpener] = useState<Opener>()
  return (
    <main>
      <h1>{texts.title}</h1>
      {archive && <ArchiveOrigin archive={archive} />}
      {!archive && <ArchiveChoice onChoose={setArchive} />}
      {archive && !opener && <UnlockForm archive={archive} onUnlock={setOpener} />}
      {archive && opener && <Parts archive={archive} opener={opener} />}
    </main>
  )
}

function ArchiveOrigin({ archive: { manifest } }: { archive: Archive }) {
  const { service, person, createdAt } = manifest
  return <p>{fillText(texts.madeAt, { service, name: person.displayName, time: formatMoment(createdAt) })}</p>
}

function ArchiveChoice({ onChoose }: { onChoose: (archive: Archive) => void }) {
  const [isWrong, setWrong] = useState(false)
  const choose = (files: FileList | null) => {
    setWrong(false)
    Archive.open([...(files ?? [])]).then(onChoose, () => setWrong(true))
  }
  return (
    <section aria-labelledby="choose">
      <h2 id="choose">{texts.choose}</h2>
      <p>{texts.chooseIntro}</p>
      <div className="choices">
        <FileField label={texts.chooseZip} accept=".zip,application/zip" choose={choose} />
        <FileField label={texts.chooseFolder} isFolder choose={choose} />
      </div>
      <p className="outcome wrong" role="status">
        {isWrong && texts.noArchive}
      </p>
    </section>
  )
}

interface FileFieldProps {
  label: string
  accept?: string
  isFolder?: boolean
  choose: (files: FileList | null) => void
}

function FileField({ label, accept, isFolder = false, choose }: FileFieldProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="file"
        accept={accept}
        ref={(input) => void (input && isFolder && input.setAttribute('webkitdirectory', ''))}
        onChange={({ currentTarget: { files } }) => choose(files)}
      />
    </div>
  )
}

type Outcome = 'asking' | 'opening' | 'wrong' | 'failed'

const outcomeTexts: Record<Outcome, string> = {
  asking: '',
  opening: texts.opening,
  wrong: texts.wrongSecret,
  failed: texts.failed,
}

function UnlockForm({ archive, onUnlock }: { archive: Archive; onUnlock: (opener: Opener) => void }) {
  const [outcome, setOutcome] = useState<Outcome>('asking')
  const id = useId()
  const unlock = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const secret = String(new FormData(event.currentTarget).get('secret') ?? '')
    setOutcome('opening')
    try {
      onUnlock(await Opener.unlock(archive, secret))
    } catch (error) {
      setOutcome(error instanceof WrongSecret ? 'wrong' : 'failed')
    }
  }
  return (
    <form aria-labelledby="unlock" onSubmit={unlock} aria-busy={outcome === 'opening'}>
      <h2 id="unlock">{texts.unlock}</h2>
      <p>{texts.unlockIntro}</p>
      <div className="field">
        <label htmlFor={id}>{texts.secret}</label>
        <input id={id} name="secret" type="password" autoComplete="off" required />
      </div>
      <p>
        <button type="submit" className="button" aria-disabled={outcome === 'opening'}>
          {texts.open}
        </button>
      </p>
      <p className={outcome === 'opening' ? 'outcome' : 'outcome wrong'} role="status">
        {outcomeTexts[outcome]}
      </p>
    </form>
  )
}

document.documentElement.lang = locale
document.title = texts.title
const root = document.getElementById('app')
if (!root) throw new Error('There is no element for the page.')
createRoot(root).render(
  <StrictMode>
    <ArchivePage />
  </StrictMode>,
)
