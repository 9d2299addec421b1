import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../shared/api/client.ts'
import type { StoredAssistant } from '../shared/assistants/content.ts'
import { ASSISTANTS_KEY, refreshAssistants } from '../shared/models/assistants.ts'
import { t } from '../shared/text/labels.ts'
import { ActionForm } from '../shared/ui/action-form.tsx'
import { Choice, ChoiceGroup, ExplainedChoice } from '../shared/ui/choice.tsx'
import { ConfirmButton } from '../shared/ui/confirm-button.tsx'
import { ErrorMessage, InlineError } from '../shared/ui/error-message.tsx'
import { Facts } from '../shared/ui/facts.tsx'
import { Section } from '../shared/ui/section.tsx'
import styles from './editor-page.module.css'
import { EditorsField } from './editors-field.tsx'

type Audience = StoredAssistant['audience']

const audienceLabels = {
  private: 'app.assistants.audience.private',
  groups: 'app.assistants.audience.groups',
  all: 'app.assistants.audience.all',
} as const satisfies Record<Audience, string>

/** Decides who may use and who may change an assistant. Only its owner does. */
export const SharingSection = ({ stored }: { stored: StoredAssistant }) => (
  <Section title={t('app.assistants.sharing')} className={styles.section}>
    {stored.isOwner ? <SharingForm stored={stored} /> : <SharingFacts stored={stored} />}
  </Section>
)

const SharingFacts = ({ stored: { audience, groups = [], editors = [], owner } }: { stored: StoredAssistant }) => (
  <>
    <Facts
      facts={[
        [t('app.assistants.owner'), owner ?? t('app.assistants.house')],
        [t('app.assistants.audience'), t(audienceLabels[audience])],
        [t('app.assistants.groups'), groups.join(', ')],
        [t('app.assistants.editors'), editors.map((name) => `@${name}`).join(', ')],
      ]}
    />
    <p className="hint">{t('app.assistants.ownerShares')}</p>
  </>
)

function SharingForm({ stored }: { stored: StoredAssistant }) {
  const { handle, published } = stored
  const [audience, setAudience] = useState(stored.audience)
  const [groups, setGroups] = useState<readonly string[]>(stored.groups ?? [])
  const [editors, setEditors] = useState<readonly string[]>(stored.editors ?? [])
  const share = async (form: HTMLFormElement) => {
    const allowRemix = new FormData(form).has('allowRemix')
    const chosen = audience === 'groups' ? [...groups] : []
    const sharing = { audience, groups: chosen, editors: [...editors], allowRemix }
    const { isWaiting } = await api.assistants.share.mutate({ handle, ...sharing })
    await refreshAssistants()
    if (isWaiting) return t('app.assistants.isWaiting')
    const isDraft = audience !== 'private' && published === null
    return t(isDraft ? 'app.assistants.sharedDraft' : 'app.assistants.sharingSaved')
  }
  return (
    <ActionForm
      label={t('app.assistants.sharing')}
      submitText={t('app.assistants.saveSharing')}
      kind="quiet"
      submit={share}
    >
      <ChoiceGroup label={t('app.assistants.audience')}>
        {(Object.keys(audienceLabels) as Audience[]).map((each) => (
          <Choice
            key={each}
            type="radio"
            name="audience"
            checked={audience === each}
            onChange={() => setAudience(each)}
            label={t(audienceLabels[each])}
          />
        ))}
      </ChoiceGroup>
      {audience === 'groups' && <GroupChoices chosen={groups} choose={setGroups} />}
      <EditorsField
        editors={editors}
        change={setEditors}
        showHandOver={(username) =>
          stored.editors?.includes(username) && <HandOver stored={stored} username={username} />
        }
      />
      <ExplainedChoice
        name="allowRemix"
        defaultChecked={stored.allowRemix}
        label={t('app.assistants.allowRemix')}
        hint={t('app.assistants.allowRemixHint')}
      />
    </ActionForm>
  )
}

/** Makes an editor the owner, after which this form is theirs. */
function HandOver({ stored: { handle, name }, username }: { stored: StoredAssistant; username: string }) {
  const [error, setError] = useState<unknown>()
  const handOver = () =>
    api.assistants.handOver.mutate({ handle, editor: username }).then(refreshAssistants).catch(setError)
  return (
    <>
      <ConfirmButton
        kind="plain"
        label={t('app.assistants.handOverTo', { username })}
        confirmation={{
          title: t('app.assistants.handOverTitle', { name, username }),
          text: t('app.assistants.handOverText', { username }),
          action: t('app.assistants.handOver'),
        }}
        act={handOver}
      >
        {t('app.assistants.handOver')}
      </ConfirmButton>
      <InlineError error={error} />
    </>
  )
}

interface GroupChoicesProps {
  chosen: readonly string[]
  choose: (groups: string[]) => void
}

/** The groups of the person, and those that were chosen before. */
function GroupChoices({ chosen, choose }: GroupChoicesProps) {
  const { data: own = [], error } = useQuery({
    queryKey: [ASSISTANTS_KEY, 'groups'],
    queryFn: ({ signal }) => api.assistants.groups.query(undefined, { signal }),
  })
  const [offered] = useState(chosen)
  const listed = [...new Set([...own, ...offered])]
  const toggle = (group: string, isChosen: boolean) =>
    choose(isChosen ? [...chosen, group] : chosen.filter((each) => each !== group))
  return (
    <ChoiceGroup label={t('app.assistants.groups')}>
      <ErrorMessage error={error} />
      {listed.length === 0 && !error && <p className="hint">{t('app.assistants.noGroups')}</p>}
      {listed.map((group) => (
        <Choice
          key={group}
          checked={chosen.includes(group)}
          onChange={({ target }) => toggle(group, target.checked)}
          label={group}
        />
      ))}
    </ChoiceGroup>
  )
}
