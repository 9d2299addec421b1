import '../app.css'
import { type FormEvent, StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Button } from '../shared/ui/button.tsx'
import { joinClasses } from '../shared/ui/class-names.ts'
import { Field } from '../shared/ui/field.tsx'
import { FileField } from '../shared/ui/file-field.tsx'
import { Archive } from './archive.ts'
import styles from './archive-page.module.css'
import { Parts } from './archive-parts.tsx'
import { Opener, WrongSecret } from './opener.ts'
import { fillText, formatMoment, locale, texts } from './texts.ts'

/** Opens an archive of a person's data in a browser, without a network. */
function ArchivePage() {
  const [archive, setArchive] = useState<Archive>()
  const [opener, setOpener] = useState<Opener>()
  return (
    <main className={styles.page}>
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
      <div className={styles.choices}>
        <FileField
          label={texts.chooseZip}
          accept=".zip,application/zip"
          onChange={({ currentTarget: { files } }) => choose(files)}
        />
        <FileField
          label={texts.chooseFolder}
          ref={(input) => input?.setAttribute('webkitdirectory', '')}
          onChange={({ currentTarget: { files } }) => choose(files)}
        />
      </div>
      <p className={joinClasses('error', styles.outcome)} role="status">
        {isWrong && texts.noArchive}
      </p>
    </section>
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
      <Field label={texts.secret} name="secret" type="password" autoComplete="off" required />
      <p>
        <Button type="submit" kind="primary" aria-disabled={outcome === 'opening'}>
          {texts.open}
        </Button>
      </p>
      <p className={joinClasses(outcome !== 'opening' && 'error', styles.outcome)} role="status">
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
