import { useState } from 'react'
import type { FieldsProps } from '../shared/assistants/content.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { LabelledField } from '../shared/ui/field.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { Select } from '../shared/ui/input.tsx'
import { Section } from '../shared/ui/section.tsx'
import styles from './editor-page.module.css'
import { KnowledgeFileList } from './knowledge-file-list.tsx'
import { createKnowledge, useOwnKnowledge } from './knowledge-files.ts'

interface KnowledgeSectionProps extends Pick<FieldsProps, 'form' | 'change'> {
  hasLostFiles: boolean
}

/** The files with which the assistant answers. */
export function KnowledgeSection({ form: { name, knowledge }, change, hasLostFiles }: KnowledgeSectionProps) {
  const { data: own, error } = useOwnKnowledge()
  const [failure, setFailure] = useState<unknown>()
  const isOwn = own?.some(({ id }) => id === knowledge)
  const create = () => {
    const taken = (own ?? []).map((each) => each.name)
    createKnowledge(name.trim() || t('app.assistants.knowledge'), taken).then(
      (id) => change({ knowledge: id }),
      setFailure,
    )
  }
  return (
    <Section title={t('app.assistants.knowledge')} className={styles.section}>
      <p className="hint">{t('app.knowledge.about')}</p>
      <LabelledField label={t('app.knowledge.collection')}>
        {(control) => (
          <Select
            {...control}
            value={knowledge ?? ''}
            onChange={({ target }) => change({ knowledge: target.value === '' ? null : Number(target.value) })}
          >
            <option value="">{t('app.knowledge.none')}</option>
            {knowledge !== null && own && !isOwn && <option value={knowledge}>{t('app.knowledge.ofOther')}</option>}
            {own?.map(({ id, name: label }) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </Select>
        )}
      </LabelledField>
      <ErrorMessage error={error ?? failure} />
      {knowledge === null && (
        <p>
          <Button onClick={create}>
            <Icon name="plus" /> {t('app.knowledge.create')}
          </Button>
        </p>
      )}
      {own && !isOwn && hasLostFiles && <p className="hint">{t('app.knowledge.lost')}</p>}
      {knowledge !== null && own && !isOwn && !hasLostFiles && <p className="hint">{t('app.knowledge.ofOtherHint')}</p>}
      {knowledge !== null && isOwn && <KnowledgeFileList key={knowledge} id={knowledge} />}
    </Section>
  )
}
