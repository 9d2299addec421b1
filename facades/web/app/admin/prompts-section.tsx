import { api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { RemoveButton } from './action-button.tsx'
import { useRecords } from './admin-queries.ts'
import { actionColumn, columnsOf } from './columns.tsx'
import { defineWholeForm, FormButton } from './record-form.tsx'
import { defineSection } from './section.tsx'

type SharedPrompt = Awaited<ReturnType<typeof api.prompts.shared.query>>[number]

const column = columnsOf<SharedPrompt>('prompts.share')

const newPrompt = defineWholeForm('prompts.share')
const changedPrompt = defineWholeForm('prompts.changeShared')

/** The prompts that administrators write for groups or for everybody. */
export const PromptsSection = defineSection({
  labels: {
    title: 'app.admin.prompts',
    search: 'app.field.name',
    none: 'app.admin.noPrompts',
    about: 'app.admin.promptsAbout',
  },
  useData: () => useRecords(['prompts'], (signal) => api.prompts.shared.query(undefined, { signal })),
  getRows: (prompts: readonly SharedPrompt[]) => prompts,
  rowKey: ({ id }) => id,
  texts: ({ name, text }) => [name, text],
  columns: [
    column('name', { isSortable: true }),
    column('groups'),
    column('locale', { empty: t('app.field.prompts.locale.none') }),
    actionColumn((prompt: SharedPrompt) => <PromptActions prompt={prompt} />),
  ],
  actions: () => (
    <FormButton
      label={t('app.prompts.new')}
      kind="primary"
      title={t('app.prompts.new')}
      action={t('app.admin.add')}
      form={newPrompt}
      save={(prompt) => api.prompts.share.mutate(prompt)}
    />
  ),
})

function PromptActions({ prompt }: { prompt: SharedPrompt }) {
  const id = Number(prompt.id)
  return (
    <Toolbar>
      <FormButton
        label={t('app.admin.edit')}
        title={t('app.admin.editOf', { name: prompt.name })}
        record={prompt}
        form={changedPrompt}
        save={(change) => api.prompts.changeShared.mutate({ id, ...change })}
      />
      <RemoveButton
        title={t('app.prompts.deleteOf', { name: prompt.name })}
        text={t('app.prompts.deleteText')}
        act={() => api.prompts.deleteShared.mutate({ id })}
      />
    </Toolbar>
  )
}
