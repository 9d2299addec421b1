import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useCallback, useEffect, useRef, useState } from 'react'
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
import type { StoredDraft } from '../shared/conversation/draft.ts'
import { refreshAssistants } from '../shared/models/assistants.ts'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { ContentFields } from './content-fields.tsx'
import { ConflictNotice, KeptNotice, RefusalNotice } from './draft-notices.tsx'
import { useDraftStores } from './draft-store.ts'
import styles from './editor-page.module.css'
import { EndingSection } from './ending-section.tsx'
import { explainHandle } from './handle-field.tsx'
import { LostNotice } from './lost-notice.tsx'
import { PictureSection } from './picture-section.tsx'
import { SharingSection } from './sharing-section.tsx'

interface ContentEditorProps {
  /** Undefined for an assistant that is not made yet. */
  stored: StoredAssistant | undefined
  /** Its newest content. */
  form: ContentForm
  /** The picture of its newest version. */
  avatar: string | null
  /** True if its newest version can use its files no more. */
  hasLostFiles?: boolean
  models: readonly ChatModel[]
  /** True if the person may not change it any more. */
  isLost?: boolean
}

/** The form for the content of an assistant. Each save makes a version. */
export function ContentEditor(props: ContentEditorProps) {
  const { stored, form: saved, avatar, models, isLost = false, hasLostFiles = false } = props
  const { form, basedOn, isKept, change, discard, rebase, follow, finish } = useEditorDraft(stored, saved)
  const { save, isSaving, error } = useSave(stored, { form, basedOn, finish })
  const isDirty = !isSameForm(form, saved)
  const isOutdated = !isLost && isDirty && isBehind(stored, basedOn)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const { value } = (event.nativeEvent as SubmitEvent).submitter as HTMLButtonElement
    void save(value === PUBLISH)
  }
  return (
    <>
      <div className={styles.scroller}>
        <div className={styles.body}>
          {isLost && <LostNotice handle={form.handle} form={isDirty ? form : undefined} />}
          {isOutdated && stored && (
            <ConflictNotice stored={stored} mine={form} theirs={saved} keepMine={rebase} discard={discard} />
          )}
          <RefusalNotice stored={stored} />
          {isDirty && isKept && !(isOutdated || isLost) && <KeptNotice discard={discard} />}
          <form id={FORM_ID} aria-label={t('app.assistants.content')} onSubmit={submit}>
            <ContentFields
              form={form}
              change={change}
              models={models}
              isNew={stored === undefined}
              hasLostFiles={hasLostFiles}
            />
          </form>
          {!isLost && <OwnSections stored={stored} avatar={avatar} follow={follow} />}
        </div>
      </div>
      <SaveBar
        state={describeState(stored, isDirty, isSaving)}
        // Other reasons are explained above the form.
        error={isOutdated || isLost ? undefined : error}
        isDisabled={isSaving || isOutdated || isLost}
      />
    </>
  )
}

const SaveBar = ({ state, error, isDisabled }: { state: string; error: unknown; isDisabled: boolean }) => (
  <div className={styles.foot}>
    <p className={styles.state} role="status">
      {state}
    </p>
    <ErrorMessage error={error} />
    <Toolbar align="end">
      <Button type="submit" form={FORM_ID} value="keep" aria-disabled={isDisabled}>
        {t('app.assistants.saveDraft')}
      </Button>
      <Button type="submit" form={FORM_ID} value={PUBLISH} kind="primary" aria-disabled={isDisabled}>
        {t('app.assistants.saveAndPublish')}
      </Button>
    </Toolbar>
  </div>
)

interface OwnSectionsProps extends Pick<ContentEditorProps, 'stored' | 'avatar'> {
  follow: (version: number) => void
}

/** The sections that have forms of their own, for an assistant that is made already. */
const OwnSections = ({ stored, avatar, follow }: OwnSectionsProps) =>
  stored && (
    <>
      <PictureSection stored={stored} avatar={avatar} follow={follow} />
      <SharingSection stored={stored} />
      <EndingSection stored={stored} />
    </>
  )

const FORM_ID = 'assistant'
const PUBLISH = 'publish'

const isBehind = (stored: StoredAssistant | undefined, basedOn: number | null): boolean =>
  stored !== undefined && basedOn !== null && basedOn < stored.latest

/** Says which version answers, and whether something is not saved. */
function describeState(stored: StoredAssistant | undefined, isDirty: boolean, isSaving: boolean): string {
  if (isSaving) return t('page.working')
  if (isDirty) return t('app.assistants.unsaved')
  if (!stored) return t('app.assistants.notMade')
  const { published, latest, waiting } = stored
  if (waiting !== null) return t('app.assistants.waits', { version: waiting })
  if (published === null) return t('app.assistants.draftOnly', { version: latest })
  return published === latest
    ? t('app.assistants.answersNow', { version: latest })
    : t('app.assistants.newerDraft', { version: published, latest })
}

/** Keeps a draft in a store, and opens the one that it had. */
function useKeptDraft(store: StoredDraft) {
  const [draft, setDraft] = useState<EditorDraft>()
  const current = useRef<EditorDraft>(undefined)
  const [isKept, setKept] = useState(false)
  const show = useCallback((next: EditorDraft | undefined) => {
    current.current = next
    setDraft(next)
  }, [])
  useEffect(() => {
    let isCurrent = true
    void store.open().then((text) => {
      const kept = parseDraft(text)
      // A text that was typed before the draft was read is newer.
      if (!isCurrent || !kept || current.current) return
      show(kept)
      setKept(true)
    })
    return () => {
      isCurrent = false
    }
  }, [store, show])
  const write = (next: EditorDraft) => {
    show(next)
    store.saveSoon(serializeDraft(next))
  }
  const discard = () => {
    show(undefined)
    setKept(false)
    store.remove()
  }
  return {
    draft,
    /** Returns the draft as it is now, for calls that began before it was written. */
    getCurrent: () => current.current,
    /** True if the draft was there when the page opened. */
    isKept,
    write,
    discard,
  }
}

/** Has the form show a draft of this browser, or the newest content if there is none. */
function useEditorDraft(stored: StoredAssistant | undefined, saved: ContentForm) {
  const openStore = useDraftStores()
  const [store] = useState(() => openStore(stored?.handle ?? ''))
  const { draft, getCurrent, isKept, write, discard } = useKeptDraft(store)
  const finish = async (saved: ContentForm, version: number) => {
    const written = getCurrent()
    if (!written || written.form === saved) return discard()
    const next = { form: { ...written.form, handle: saved.handle }, basedOn: version }
    if (stored) return write(next)
    // The page of the assistant opens it.
    await openStore(saved.handle).saveOrHold(serializeDraft(next))
    discard()
  }
  const newest: EditorDraft = { form: saved, basedOn: stored?.latest ?? null }
  // A change may come from a call that began before other changes.
  const change = (members: Partial<ContentForm>) => {
    const { form, basedOn } = getCurrent() ?? newest
    write({ form: { ...form, ...members }, basedOn })
  }
  const { form, basedOn } = draft ?? newest
  return {
    form,
    basedOn,
    isKept,
    change,
    discard,
    /** Has the draft replace the newest content, although it was made from an earlier one. */
    rebase: () => write({ form, basedOn: newest.basedOn }),
    /** Has the draft replace a version of the person's own that follows the newest one with the same content. */
    follow: (version: number) => {
      const kept = getCurrent()
      if (kept && kept.basedOn === newest.basedOn) write({ ...kept, basedOn: version })
    },
    /** Ends the draft that was saved; a text that was written meanwhile stays as a draft from the saved version. */
    finish,
  }
}

interface SavedDraft extends EditorDraft {
  finish: (saved: ContentForm, version: number) => Promise<void>
}

function useSave(stored: StoredAssistant | undefined, { form, basedOn, finish }: SavedDraft) {
  const navigate = useNavigate()
  const [isSaving, setSaving] = useState(false)
  const [error, setError] = useState<unknown>()
  const isRunning = useRef(false)
  const save = async (publish: boolean) => {
    if (isRunning.current) return
    isRunning.current = true
    setSaving(true)
    setError(undefined)
    try {
      const { version } = await store(stored, { form, basedOn }, publish)
      await refreshAssistants()
      await finish(form, version)
      if (!stored) await navigate({ to: '/assistants/$handle/edit', params: { handle: form.handle }, replace: true })
    } catch (failure) {
      setError(failure)
      // If somebody else has saved meanwhile, their version is shown beside this one.
      await refreshAssistants()
    } finally {
      isRunning.current = false
      setSaving(false)
    }
  }
  return { save, isSaving, error }
}

async function store(
  stored: StoredAssistant | undefined,
  { form, basedOn }: EditorDraft,
  publish: boolean,
): Promise<{ version: number }> {
  const content = toContent(form)
  if (!stored)
    return api.assistants.create.mutate({ handle: form.handle, content, publish }).catch(explainHandle(form.handle))
  return api.assistants.save.mutate({
    handle: stored.handle,
    content,
    publish,
    ...(basedOn !== null && { basedOn }),
  })
}
