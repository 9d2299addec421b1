import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../shared/api/client.ts'
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
  const { data: models, error: modelsError } = useModels()
  const { data, error } = useEdited(handle)
  usePageTitle(data?.content.name ?? t('app.assistants'))
  return (
    <Page>
      <PageHead>
        <h1 dir="auto">{data?.content.name}</h1>
        <Link to="/assistants/$handle/history" params={{ handle }} className={getButtonClass()}>
          <HeadLabel icon="later" text={t('app.assistants.history')} />
        </Link>
      </PageHead>
      {data && models ? (
        <ContentEditor
          key={handle}
          stored={data.stored}
          form={toForm(handle, data.content)}
          avatar={data.content.avatar}
          models={models}
        />
      ) : error || modelsError ? (
        <PageError error={error ?? modelsError} />
      ) : (
        <div className={styles.loading}>
          <Skeleton />
        </div>
      )}
    </Page>
  )
}

/** Reads an assistant with its newest content. */
const useEdited = (handle: string) =>
  useQuery({
    queryKey: [ASSISTANTS_KEY, 'edited', handle],
    queryFn: async ({ signal }) => {
      const stored = await api.assistants.get.query({ handle }, { signal })
      const content = await api.assistants.version.query({ handle, version: stored.latest }, { signal })
      return { stored, content }
    },
  })
