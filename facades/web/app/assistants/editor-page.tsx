import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../shared/api/client.ts'
import { isNotFound } from '../shared/api/error-text.ts'
import { emptyForm, toForm } from '../shared/assistants/content.ts'
import { ASSISTANTS_KEY } from '../shared/models/assistants.ts'
import { useChosenModel, useModels } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { getButtonClass } from '../shared/ui/button.tsx'
import { Page, PageError } from '../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { Skeleton } from '../shared/ui/skeleton.tsx'
import { ContentEditor } from './content-editor.tsx'
import styles from './editor-page.module.css'
import { HeadLabel } from './head-label.tsx'
import { LostEditor } from './lost-notice.tsx'

/** Makes an assistant. */
export function NewAssistantPage() {
  usePageTitle(t('app.assistants.new'))
  const { data: models, error } = useModels()
  const { model } = useChosenModel(models)
  return (
    <Page>
      <PageHead>
        <h1>{t('app.assistants.new')}</h1>
      </PageHead>
      {error && !models ? (
        <PageError error={error} />
      ) : (
        models && (
          <ContentEditor
            stored={undefined}
            form={{ ...emptyForm, model: model?.modelId ?? '' }}
            avatar={null}
            models={models}
          />
        )
      )}
    </Page>
  )
}

/** Changes an assistant. */
export function EditorPage({ handle }: { handle: string }) {
  const { data, error } = useEdited(handle)
  const name = data?.content.name
  const isLost = isNotFound(error)
  usePageTitle(name ?? t('app.assistants'))
  return (
    <Page>
      <PageHead>
        <h1 dir="auto">{name ?? (isLost ? t('app.assistants') : undefined)}</h1>
        {!isLost && (
          <Link to="/assistants/$handle/history" params={{ handle }} className={getButtonClass()}>
            <HeadLabel icon="later" text={t('app.assistants.history')} />
          </Link>
        )}
      </PageHead>
      {isLost && !data ? <LostEditor handle={handle} /> : <Editor handle={handle} edited={data} error={error} />}
    </Page>
  )
}

interface EditorProps {
  handle: string
  edited: Awaited<ReturnType<typeof readEdited>> | undefined
  error: unknown
}

function Editor({ handle, edited, error }: EditorProps) {
  const { data: models, error: modelsError } = useModels()
  if (edited && models)
    return (
      <ContentEditor
        key={handle}
        stored={edited.stored}
        form={toForm(handle, edited.content)}
        avatar={edited.content.avatar}
        hasLostFiles={edited.content.hasLostFiles}
        models={models}
        isLost={isNotFound(error)}
      />
    )
  if (error || modelsError) return <PageError error={error ?? modelsError} />
  return (
    <div className={styles.loading}>
      <Skeleton />
    </div>
  )
}

const useEdited = (handle: string) =>
  useQuery({
    queryKey: [ASSISTANTS_KEY, 'edited', handle],
    queryFn: ({ signal }) => readEdited(handle, signal),
  })

/** Reads an assistant with its newest content. */
async function readEdited(handle: string, signal: AbortSignal) {
  const stored = await api.assistants.get.query({ handle }, { signal })
  const content = await api.assistants.version.query({ handle, version: stored.latest }, { signal })
  return { stored, content }
}
