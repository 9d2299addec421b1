import type { FieldsProps } from '../shared/assistants/content.ts'
import { t } from '../shared/text/labels.ts'
import { Field, LabelledField } from '../shared/ui/field.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { Input, TextArea } from '../shared/ui/input.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { Section } from '../shared/ui/section.tsx'
import styles from './editor-page.module.css'
import { HandleField, suggestHandle } from './handle-field.tsx'
import { KnowledgeSection } from './knowledge-section.tsx'
import { ModelFields } from './model-fields.tsx'
import { RowsField } from './rows-field.tsx'
import { ToolFields } from './tool-fields.tsx'

const MAX_STARTERS = 12

/** The fields of the content of an assistant. */
export const ContentFields = ({
  isNew,
  hasLostFiles,
  ...fields
}: FieldsProps & { isNew: boolean; hasLostFiles: boolean }) => (
  <>
    <Identity {...fields} isNew={isNew} />
    <Section title={t('app.assistants.behaviour')} className={styles.section}>
      <Notice layout="row" className={styles.privacy}>
        <Icon name="eye" />
        <span>{t('app.assistants.readable')}</span>
      </Notice>
      <Instructions {...fields} />
      <ModelFields {...fields} />
      <ToolFields {...fields} />
    </Section>
    <KnowledgeSection {...fields} hasLostFiles={hasLostFiles} />
    <Beginning {...fields} />
  </>
)

function Identity({ form, change, isNew }: FieldsProps & { isNew: boolean }) {
  const { name, handle, description } = form
  // The handle follows the name until it is written by hand.
  const rename = (next: string) =>
    change({ name: next, ...(isNew && handle === suggestHandle(name) && { handle: suggestHandle(next) }) })
  return (
    <Section title={t('app.assistants.identity')} className={styles.section}>
      <Field
        label={t('app.name')}
        name="name"
        required
        maxLength={120}
        value={name}
        dir="auto"
        onChange={({ target }) => rename(target.value)}
      />
      <HandleField
        name="handle"
        value={handle}
        readOnly={!isNew}
        hint={t(isNew ? 'app.assistants.handleHint' : 'app.assistants.handleStays', { handle })}
        onChange={({ target }) => change({ handle: target.value })}
      />
      <LabelledField label={t('app.assistants.description')} hint={t('app.assistants.descriptionHint')}>
        {(control) => (
          <TextArea
            {...control}
            name="description"
            rows={2}
            maxLength={1000}
            dir="auto"
            value={description}
            onChange={({ target }) => change({ description: target.value })}
          />
        )}
      </LabelledField>
      <Details form={form} change={change} />
      <Field
        label={t('app.assistants.tags')}
        hint={t('app.assistants.tagsHint')}
        name="tags"
        maxLength={600}
        dir="auto"
        value={form.tags}
        onChange={({ target }) => change({ tags: target.value })}
      />
    </Section>
  )
}

const Details = ({ form: { detailDescription }, change }: Pick<FieldsProps, 'form' | 'change'>) => (
  <LabelledField label={t('app.assistants.details')} hint={t('app.assistants.detailsHint')}>
    {(control) => (
      <TextArea
        {...control}
        name="detailDescription"
        rows={3}
        maxLength={10_000}
        dir="auto"
        value={detailDescription}
        onChange={({ target }) => change({ detailDescription: target.value })}
      />
    )}
  </LabelledField>
)

const Instructions = ({ form: { systemPrompt }, change }: FieldsProps) => (
  <LabelledField label={t('app.options.prompt')} hint={t('app.assistants.instructionsHint')}>
    {(control) => (
      <TextArea
        {...control}
        className={styles.prompt}
        name="systemPrompt"
        maxLength={64_000}
        dir="auto"
        value={systemPrompt}
        onChange={({ target }) => change({ systemPrompt: target.value })}
      />
    )}
  </LabelledField>
)

const Beginning = ({ form: { greeting, starters }, change }: FieldsProps) => (
  <Section title={t('app.assistants.beginning')} className={styles.section}>
    <LabelledField label={t('app.assistants.greeting')} hint={t('app.assistants.greetingHint')}>
      {(control) => (
        <TextArea
          {...control}
          name="greeting"
          rows={3}
          maxLength={4000}
          dir="auto"
          value={greeting}
          onChange={({ target }) => change({ greeting: target.value })}
        />
      )}
    </LabelledField>
    <RowsField
      label={t('app.assistants.starters')}
      hint={t('app.assistants.startersHint')}
      rows={starters}
      change={(rows) => change({ starters: rows })}
      most={MAX_STARTERS}
      addLabel={t('app.assistants.addStarter')}
      nameRow={(position) => t('app.assistants.starter', { position })}
    >
      {(control) => <Input {...control} maxLength={500} dir="auto" />}
    </RowsField>
  </Section>
)
