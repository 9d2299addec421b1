import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { api } from '../shared/api/client.ts'
import {
  type ContentForm,
  type EditorDraft,
  isSameForm,
  parseDraft,
  type StoredAssistant,
  serializeDraft,
  toContent,
} from '../shared/assistants/content.ts'
import { StoredDraft } from '../shared/conversation/draft.ts'
import { refreshAssistants } from '../shared/models/assistants.ts'
import type { ChatModel } from '../shared/models/models.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { ContentFields } from './content-fields.tsx'
import { ConflictNotice, KeptNotice } from './draft-notices.tsx'
import styles from './editor-page.module.css'
import { EndingSection } from './ending-section.tsx'
import { explainHandle } from './handle-field.tsx'
import { SharingSection } from './sharing-section.tsx'

interface ContentEditorProps {
  /** Undefined for an assistant that is not made yet. */
  stored: StoredAssistant | undefined
  /** Its newest content. */
  form: ContentForm
  models: readonly ChatModel[]
}

/** The form for the content of an assistant. Each save makes a version. */
export function ContentEditor({ stored, form: saved, models }: ContentEditorProps) {
  const { form, basedOn, isKept, change, discard, rebase, finish } = useEditorDraft(stored, saved)
  const { save, state, error } = useSave(stored, { form, basedOn, finish })
  const isDirty = !isSameForm(form, saved)
  const isOutdated = isDirty && stored !== undefined && basedOn !== null && basedOn < stored.latest
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const { value } = (event.nativeEvent as SubmitEvent).submitter as HTMLButtonElement
    void save(value === PUBLISH)
  }
  return (
    <>
      <div className={styles.scroller}>
        <div className={styles.body}>
          {isOutdated && (
            <ConflictNotice stored={stored} mine={form} theirs={saved} keepMine={rebase} discard={discard} />
          )}
          {stored?.refusal && (
            <Notice kind="warning">
              <p>{t('app.assistants.refused', { version: stored.refusal.version })}</p>
              <p dir="auto">{stored.refusal.reason}</p>
            </Notice>
          )}
          {isDirty && isKept && !isOutdated && <KeptNotice discard={discard} />}
          <form id={FORM_ID} aria-label={t('app.assistants.content')} onSubmit={submit}>
            <ContentFields form={form} change={change} models={models} isNew={stored === undefined} />
          </form>
          {stored && <SharingSection stored={stored} />}
          {stored && <EndingSection stored={stored} />}
        </div>
      </div>
      <div className={styles.foot}>
        <p className={styles.state} role="status">
          {describeState(stored, isDirty, state)}
        </p>
        <ErrorMessage error={error} />
        <Toolbar align="end">
          <Button type="submit" form={FORM_ID} value="keep" aria-disabled={state === 'saving' || isOutdated}>
            {t('app.assistants.saveDraft')}
          </Button>
          <Button
            type="submit"
            form={FORM_ID}
            value={PUBLISH}
            kind="primary"
            aria-disabled={state === 'saving' || isOutdated}
          >
            {t('app.assistants.saveAndPublish')}
          </Button>
        </Toolbar>
      </div>
    </>
  )
}

const FORM_ID = 'assistant'
const PUBLISH = 'publish'

type SaveState = 'ready' | 'saving' | 'saved'

/** Says which version answers, and whether something is not saved. */
function describeState(stored: StoredAssistant | undefined, isDirty: boolean, state: SaveState): string {
  if (state === 'saving') return t('page.working')
  if (isDirty) return t('app.assistants.unsaved')
  if (!stored) return t('app.assistants.notMade')
  const { published, latest, waiting } = stored
  if (waiting !== null) return t('app.assistants.waits', { version: waiting })
  if (published === null) return t('app.assistants.draftOnly', { version: latest })
  return published === latest
    ? t('app.assistants.answersNow', { version: latest })
    : t('app.assistants.newerDraft', { version: published, latest })
}

/** What is written: a draft of this browser, or else the newest content. */
function useEditorDraft(stored: StoredAssistant | undefined, saved: ContentForm) {
  const { connection, conversationKey } = useSession()
  const latest = stored?.latest ?? null
  const [store] = useState(
    () => new StoredDraft(conversationKey, String(connection.userinfo?.id), `assistant:${stored?.handle ?? ''}`),
  )
  const [draft, setDraft] = useState<EditorDraft>()
  const [isKept, setKept] = useState(false)
  useEffect(() => {
    let isCurrent = true
    void store.open().then((text) => {
      const kept = parseDraft(text)
      if (!isCurrent || !kept) return
      // What was typed before the draft was read is newer.
      setDraft((written) => written ?? kept)
      setKept(true)
    })
    return () => {
      isCurrent = false
    }
  }, [store])
  const write = (next: EditorDraft) => {
    setDraft(next)
    store.saveSoon(serializeDraft(next))
  }
  const finish = () => {
    setDraft(undefined)
    setKept(false)
    store.remove()
  }
  const { form, basedOn } = draft ?? { form: saved, basedOn: latest }
  return {
    form,
    basedOn,
    /** True if the draft was there when the page opened. */
    isKept,
    change: (members: Partial<ContentForm>) => write({ form: { ...form, ...members }, basedOn }),
    discard: finish,
    /** Has the draft replace the newest content, although it was made from an earlier one. */
    rebase: () => write({ form, basedOn: latest }),
    finish,
  }
}

interface SavedDraft extends EditorDraft {
  finish: () => void
}

function useSave(stored: StoredAssistant | undefined, { form, basedOn, finish }: SavedDraft) {
  const navigate = useNavigate()
  const [state, setState] = useState<SaveState>('ready')
  const [error, setError] = useState<unknown>()
  const isSaving = useRef(false)
  const save = async (publish: boolean) => {
    if (isSaving.current) return
    isSaving.current = true
    setState('saving')
    setError(undefined)
    try {
      await store(stored, { form, basedOn }, publish)
      await refreshAssistants()
      finish()
      setState('saved')
      if (!stored) await navigate({ to: '/assistants/$handle/edit', params: { handle: form.handle }, replace: true })
    } catch (failure) {
      setState('ready')
      setError(failure)
      // If somebody else has saved meanwhile, their version is shown beside this one.
      await refreshAssistants()
    } finally {
      isSaving.current = false
    }
  }
  return { save, state, error }
}

async function store(
  stored: StoredAssistant | undefined,
  { form, basedOn }: EditorDraft,
  publish: boolean,
): Promise<void> {
  const content = toContent(form)
  if (stored)
    await api.assistants.save.mutate({
      handle: stored.handle,
      content,
      publish,
      ...(basedOn !== null && { basedOn }),
    })
  else await api.assistants.create.mutate({ handle: form.handle, content, publish }).catch(explainHandle(form.handle))
}
