import { api } from '../../shared/api/client.ts'
import { getRelatedId } from '../../shared/api/related.ts'
import { t } from '../../shared/text/labels.ts'
import { Toolbar } from '../../shared/ui/toolbar.tsx'
import { RemoveButton } from '../action-button.tsx'
import { useRecords } from '../admin-queries.ts'
import { actionColumn, columnsOf } from '../columns.tsx'
import { getChoiceLabel } from '../member-texts.ts'
import { defineWholeForm, FormButton } from '../record-form.tsx'
import { defineSection } from '../section.tsx'
import { type ModelWithProvider, useCatalogue } from './catalogue.ts'
import { useOrigins } from './config-file.tsx'

type Task = Awaited<ReturnType<typeof api.systemModels.list.query>>['items'][number]

interface Tasks {
  tasks: readonly Task[]
  models: readonly ModelWithProvider[]
  /** Returns the line of the file that assigns a task, if there is one. */
  findLine: (task: Task) => number | undefined
}

function useTasks(): { data: Tasks | undefined; error: unknown } {
  const { data: catalogue } = useCatalogue()
  const { findTaskOrigin } = useOrigins()
  const { data, error } = useRecords(['tasks'], (signal) =>
    api.systemModels.list.query({ page: { size: 1000 }, include: ['model'] }, { signal }),
  )
  const findLine = ({ usageType, modelType }: Task) => findTaskOrigin(usageType, modelType)?.line
  return { data: data && { tasks: data.items, models: catalogue?.models ?? [], findLine }, error }
}

const column = columnsOf<Task>('systemModels.update')

/** Assigns models to the tasks of the service. */
export const TasksSection = defineSection({
  labels: {
    title: 'app.admin.tasks',
    search: 'app.field.systemModels.modelType',
    none: 'app.admin.noTasks',
    about: 'app.admin.tasksAbout',
  },
  useData: useTasks,
  getRows: ({ tasks }) => tasks,
  rowKey: ({ id }) => id,
  texts: ({ modelType }) => [modelType, nameTask(modelType)],
  columns: (data) => [
    column('modelType', { cell: ({ modelType }) => nameTask(modelType), isSortable: true }),
    column('usageType'),
    column('modelId', { label: t('app.field.model'), isSortable: true }),
    actionColumn((task) => data && <TaskActions task={task} {...data} />),
  ],
  actions: (data) => (
    <FormButton
      label={t('app.admin.addTask')}
      kind="primary"
      title={t('app.admin.addTask')}
      action={t('app.admin.add')}
      form={newTask}
      choices={{ model: listModelChoices(data?.models) }}
      suggestions={taskSuggestions}
      save={(task) => api.systemModels.create.mutate(task)}
    />
  ),
})

const newTask = defineWholeForm('systemModels.create')
const changedTask = defineWholeForm('systemModels.update')

function TaskActions({ task, models, findLine }: { task: Task } & Omit<Tasks, 'tasks'>) {
  const line = findLine(task)
  const record = { ...task, model: getRelatedId(task, 'model') }
  if (line !== undefined) return <span className="hint">{t('app.admin.ownedBy', { line: `${line}` })}</span>
  return (
    <Toolbar>
      <FormButton
        label={t('app.admin.edit')}
        title={t('app.admin.editOf', { name: nameTask(task.modelType) })}
        record={record}
        form={changedTask}
        choices={{ model: listModelChoices(models) }}
        suggestions={taskSuggestions}
        save={(change, condition) => api.systemModels.update.mutate({ id: task.id, ...condition, ...change })}
      />
      <RemoveButton
        title={t('app.admin.removeTaskOf', { name: nameTask(task.modelType) })}
        text={t('app.admin.removeTaskText')}
        record={task}
        act={(_form, condition) => api.systemModels.delete.mutate({ id: task.id, ...condition })}
      />
    </Toolbar>
  )
}

/** The tasks of this front end. Others may have tasks of their own. */
const knownTasks = ['default', 'title_generation', 'prompt_improvement', 'summary'] as const

const nameTask = (modelType: string): string => getChoiceLabel('modelType', modelType, 'systemModels')

const taskSuggestions = { modelType: knownTasks.map((each) => [each, nameTask(each)] as const) }

const listModelChoices = (models: readonly ModelWithProvider[] = []) =>
  models.map(({ id, label }) => [id, label] as const)
