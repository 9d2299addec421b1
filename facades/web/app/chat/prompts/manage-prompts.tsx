import { useRef, useState } from 'react'
import { useSession } from '../../shared/session.tsx'
import { t } from '../../shared/text/labels.ts'
import { Button } from '../../shared/ui/button.tsx'
import { ConfirmButton } from '../../shared/ui/confirm-button.tsx'
import { Dialog, DialogClose } from '../../shared/ui/dialog.tsx'
import { ErrorMessage } from '../../shared/ui/error-message.tsx'
import { Field, LabelledField } from '../../shared/ui/field.tsx'
import { FormDialog } from '../../shared/ui/form-dialog.tsx'
import { TextArea } from '../../shared/ui/input.tsx'
import { Toolbar } from '../../shared/ui/toolbar.tsx'
import styles from './manage-prompts.module.css'
import {
  deletePrompt,
  exportPrompts,
  type ImportResult,
  importPrompts,
  MAX_NAME,
  MAX_TEXT,
  type Prompt,
  savePrompt,
  usePrompts,
} from './prompts.ts'

/** Lists the person's own prompts, to add, change, delete, export and import them. */
export function ManagePrompts({ close }: { close: () => void }) {
  const { data = [], error, isSuccess } = usePrompts()
  const own = data.filter(({ ownId }) => ownId !== undefined)
  const [edited, setEdited] = useState<Prompt | 'new'>()
  return (
    <Dialog title={t('app.prompts.own')} close={close}>
      <p className="hint">{t('app.prompts.explained')}</p>
      <ErrorMessage error={error} />
      <ul className={styles.prompts}>
        {own.map((prompt) => (
          <li key={prompt.key} className={styles.prompt}>
            <span className={styles.name} dir="auto">
              {prompt.name}
            </span>
            <Toolbar>
              {prompt.text !== '' && (
                <Button aria-label={t('app.prompts.editOf', { name: prompt.name })} onClick={() => setEdited(prompt)}>
                  {t('app.prompts.edit')}
                </Button>
              )}
              <ConfirmButton
                label={t('app.prompts.deleteOf', { name: prompt.name })}
                confirmation={{
                  title: t('app.prompts.deleteOf', { name: prompt.name }),
                  text: t('app.prompts.deleteText'),
                  action: t('app.prompts.delete'),
                }}
                act={() => deletePrompt(Number(prompt.ownId))}
              >
                {t('app.prompts.delete')}
              </ConfirmButton>
            </Toolbar>
          </li>
        ))}
      </ul>
      {own.length === 0 && !error && <p className="hint">{t('app.prompts.none')}</p>}
      <Transfer own={own} isLoaded={isSuccess} />
      <Toolbar align="end">
        <Button kind="primary" onClick={() => setEdited('new')}>
          {t('app.prompts.new')}
        </Button>
        <DialogClose>{t('app.close')}</DialogClose>
      </Toolbar>
      {edited && <EditPrompt prompt={edited === 'new' ? undefined : edited} close={() => setEdited(undefined)} />}
    </Dialog>
  )
}

/** Exports the own prompts to a file, and imports them from one. */
function Transfer({ own, isLoaded }: { own: readonly Prompt[]; isLoaded: boolean }) {
  const { conversationKey: key } = useSession()
  const input = useRef<HTMLInputElement>(null)
  const [state, setState] = useState<'ready' | 'working' | ImportResult>('ready')
  const take = async (file: File | undefined) => {
    if (!file) return
    setState('working')
    setState(await importPrompts(key, file, own).catch((error: unknown) => ({ ...nothing, error })))
  }
  const result = typeof state === 'object' ? state : undefined
  return (
    <>
      <Toolbar>
        <Button disabled={own.length === 0} onClick={() => exportPrompts(own)}>
          {t('app.prompts.export')}
        </Button>
        <Button disabled={state === 'working' || !isLoaded} onClick={() => input.current?.click()}>
          {t('app.prompts.import')}
        </Button>
        <input
          ref={input}
          type="file"
          accept="application/json,.json"
          hidden
          onChange={({ target }) => {
            void take(target.files?.[0])
            target.value = ''
          }}
        />
      </Toolbar>
      {result && <ErrorMessage error={result.error} />}
      <p className="hint" role="status">
        {result && describeImport(result)}
      </p>
    </>
  )
}

const nothing = { count: 0, known: 0, left: 0 }

/** Says how many prompts of a file were added, were there already, and were not added. */
const describeImport = ({ count, known, left, error }: ImportResult): string =>
  [
    (count > 0 || !error) && t('app.prompts.imported', { count }),
    known > 0 && t('app.prompts.known', { count: known }),
    left > 0 && t('app.prompts.left', { count: left }),
  ]
    .filter(Boolean)
    .join(' ')

function EditPrompt({ prompt, close }: { prompt: Prompt | undefined; close: () => void }) {
  const { conversationKey: key } = useSession()
  return (
    <FormDialog
      title={t(prompt ? 'app.prompts.editTitle' : 'app.prompts.new')}
      close={close}
      save={async (form) => {
        const [name, text] = [form.get('name'), form.get('text')].map((value) => String(value).trim())
        await savePrompt(key, { name: name ?? '', text: text ?? '' }, prompt?.ownId)
      }}
    >
      <Field
        label={t('app.prompts.name')}
        name="name"
        required={true}
        pattern=".*\S.*"
        maxLength={MAX_NAME}
        defaultValue={prompt?.name}
      />
      <LabelledField label={t('app.prompts.text')} hint={t('app.prompts.textHint')}>
        {(control) => (
          <TextArea
            {...control}
            name="text"
            rows={8}
            required={true}
            maxLength={MAX_TEXT}
            defaultValue={prompt?.text}
            dir="auto"
          />
        )}
      </LabelledField>
    </FormDialog>
  )
}
