import { api } from '../../shared/api/client.ts'
import { getRelatedId } from '../../shared/api/related.ts'
import { t } from '../../shared/text/labels.ts'
import { Field } from '../../shared/ui/field.tsx'
import { ActionButton } from '../action-button.tsx'
import { useRecords } from '../admin-queries.ts'
import { ChoiceInput, readText } from '../form-fields.tsx'
import { useLocalRows } from '../local-rows.ts'
import { type Column, RecordTable, SearchField } from '../record-table.tsx'
import { type ModelWithProvider, useCatalogue } from './catalogue.ts'
import { useOrigins } from './config-file.tsx'

type Task = Awaited<ReturnType<typeof api.systemModels.list.query>>['items'][number]

const useTasks = () =>
  useRecords(['tasks'], async (signal) => {
    const { items } = await api.systemModels.list.query({ page: { size: 1000 }, include: ['model'] }, { signal })
    return items
  })

const surfaceLabels = { main: 'app.admin.surfaceMain', external: 'app.admin.surfaceExternal' } as const

const buildColumns = (
  models: readonly ModelWithProvider[],
  findLine: (task: Task) => number | undefined,
): Column<Task>[] => [
  {
    key: 'task',
    label: t('app.admin.task'),
    cell: ({ modelType }) => <code>{modelType}</code>,
    text: ({ modelType }) => modelType,
    isSortable: true,
  },
  {
    key: 'surface',
    label: t('app.admin.surfaces'),
    cell: ({ usageType }) => t(surfaceLabels[usageType]),
    text: ({ usageType }) => usageType,
  },
  {
    key: 'model',
    label: t('app.admin.model'),
    cell: ({ modelId }) => modelId,
    text: ({ modelId }) => modelId,
    isSortable: true,
  },
  {
    key: 'actions',
    label: t('app.admin.actions'),
    cell: (task) => <TaskActions task={task} models={models} line={findLine(task)} />,
  },
]
interface TaskActionsProps {
  task: Task
  models: readonly ModelWithProvider[]
  /** The line of the file that assigns the task, if there is one. */
  line: number | undefined
}

function TaskActions({ task, models, line }: TaskActionsProps) {
  if (line !== undefined) return <span className="hint">{t('app.admin.ownedBy', { line })}</span>
  return (
    <span className="button-row">
      <ActionButton
        label={t('app.admin.edit')}
        title={t('app.admin.editOf', { name: task.modelType })}
        action={t('app.save')}
        record={task}
        act={(form, condition) =>
          api.systemModels.update.mutate({ id: task.id, ...condition, model: readText(form, 'model') })
        }
      >
        <ChoiceInput
          label={t('app.admin.model')}
          name="model"
          value={getRelatedId(task, 'model') ?? ''}
          choices={listModelChoices(models)}
        />
      </ActionButton>
      <ActionButton
        label={t('app.admin.remove')}
        title={t('app.admin.removeTaskOf', { name: task.modelType })}
        text={t('app.admin.removeTaskText')}
        action={t('app.admin.remove')}
        isDangerous
        record={task}
        act={(_form, condition) => api.systemModels.delete.mutate({ id: task.id, ...condition })}
      />
    </span>
  )
}

const listModelChoices = (models: readonly ModelWithProvider[]) => models.map(({ id, label }) => [id, label] as const)

/** Assigns models to the tasks of the service. */
export function TasksSection() {
  const { data: catalogue } = useCatalogue()
  const { data, error } = useTasks()
  const models = catalogue?.models ?? []
  const { findTaskOrigin } = useOrigins()
  const columns = buildColumns(models, ({ usageType, modelType }) => findTaskOrigin(usageType, modelType)?.line)
  const rows = useLocalRows({ records: data, error, columns, texts: ({ modelType }) => [modelType] })
  return (
    <RecordTable
      label={t('app.admin.tasks')}
      columns={columns}
      rowKey={({ id }) => id}
      {...rows}
      none={t('app.admin.noTasks')}
      filters={
        <>
          <p className="hint">{t('app.admin.tasksAbout')}</p>
          <SearchField name="q" label={t('app.admin.task')} />
        </>
      }
      actions={
        <ActionButton
          label={t('app.admin.addTask')}
          className="button"
          title={t('app.admin.addTask')}
          action={t('app.admin.add')}
          act={(form) =>
            api.systemModels.create.mutate({
              modelType: readText(form, 'task'),
              usageType: readText(form, 'surface') === 'external' ? 'external' : 'main',
              model: readText(form, 'model'),
            })
          }
        >
          <Field label={t('app.admin.task')} name="task" required maxLength={80} hint={t('app.admin.taskHint')} />
          <ChoiceInput
            label={t('app.admin.surfaces')}
            name="surface"
            value="main"
            choices={Object.entries(surfaceLabels).map(([value, label]) => [value, t(label)])}
          />
          <ChoiceInput label={t('app.admin.model')} name="model" value="" choices={listModelChoices(models)} />
        </ActionButton>
      }
    />
  )
}
