import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { InputError } from '../shared/api/error-text.ts'
import { type ContentForm, parseDraft, serializeDraft } from '../shared/assistants/content.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { scrollThere } from './draft-notices.tsx'
import { useDraftStores } from './draft-store.ts'
import styles from './editor-page.module.css'
import { suggestCopyHandle } from './handle-field.tsx'

interface LostNoticeProps {
  handle: string
  /** The form that was not saved; undefined if nothing was written. */
  form: ContentForm | undefined
}

/** Says that the person may not change an assistant any more, and makes what they wrote a new one. */
export function LostNotice({ handle, form }: LostNoticeProps) {
  const navigate = useNavigate()
  const findDraft = useDraftStores()
  const [error, setError] = useState<unknown>()
  const move = async ({ handle, ...written }: ContentForm) => {
    const store = findDraft('')
    if ((await store.open()) !== '') throw new InputError(t('app.assistants.newIsOpen'))
    // Knowledge of others is asked through their assistant alone.
    const form = { ...written, handle: suggestCopyHandle(handle), knowledge: null }
    await store.saveOrHold(serializeDraft({ form, basedOn: null }))
    findDraft(handle).remove()
    await navigate({ to: '/assistants/new' })
  }
  return (
    <Notice kind="warning" role="alert" className={styles.conflict} ref={scrollThere}>
      <p>
        {t('app.assistants.lost')} {form && t('app.assistants.lostDraft')}
      </p>
      {form && (
        <Toolbar>
          <Button onClick={() => void move({ ...form, handle }).catch(setError)}>
            {t('app.assistants.lostToNew')}
          </Button>
        </Toolbar>
      )}
      <ErrorMessage error={error} />
    </Notice>
  )
}

/** Stands in place of the form of an assistant that the person may not change, with what they wrote before. */
export function LostEditor({ handle }: { handle: string }) {
  const findDraft = useDraftStores()
  const [form, setForm] = useState<ContentForm>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the page of another assistant has another component.
  useEffect(() => {
    void findDraft(handle)
      .open()
      .then((text) => setForm(parseDraft(text)?.form))
  }, [handle])
  return (
    <div className={styles.body}>
      <LostNotice handle={handle} form={form} />
    </div>
  )
}
