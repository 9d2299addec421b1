import { useQuery } from '@tanstack/react-query'
import { api } from '../shared/api/client.ts'
import type { FieldsProps } from '../shared/assistants/content.ts'
import { t } from '../shared/text/labels.ts'
import { Choice, ChoiceGroup } from '../shared/ui/choice.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import styles from './editor-page.module.css'

/** The tools that the assistant may use: all of its model, or some of them. */
export function ToolFields({ form: { model, tools }, change, models }: FieldsProps) {
  const { data, error } = useQuery({
    queryKey: ['tools'],
    queryFn: ({ signal }) => api.aiTools.list.query({ page: { size: 1000 } }, { signal }),
  })
  const ids = new Set(models.find(({ modelId }) => modelId === model)?.toolIds ?? [])
  const offered = (data?.items ?? []).filter(({ id }) => ids.has(Number(id))).map(({ name }) => name)
  // A tool that was chosen for another model stays until it is taken away.
  const listed = [...offered, ...(tools ?? []).filter((name) => !offered.includes(name))]
  const toggle = (name: string, isChosen: boolean) =>
    change({ tools: isChosen ? [...(tools ?? []), name] : (tools ?? []).filter((each) => each !== name) })
  return (
    <ChoiceGroup label={t('app.assistants.tools')}>
      <Choice
        type="radio"
        name="tools"
        checked={tools === null}
        onChange={() => change({ tools: null })}
        label={t('app.assistants.allTools')}
      />
      <Choice
        type="radio"
        name="tools"
        checked={tools !== null}
        onChange={() => change({ tools: [] })}
        label={t(listed.length > 0 ? 'app.assistants.someTools' : 'app.assistants.noTools')}
      />
      {tools !== null && listed.length > 0 && (
        <div className={styles.tools}>
          {listed.map((name) => (
            <Choice
              key={name}
              checked={tools.includes(name)}
              onChange={({ target }) => toggle(name, target.checked)}
              label={name}
            />
          ))}
        </div>
      )}
      <ErrorMessage error={error} />
    </ChoiceGroup>
  )
}
