import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../shared/api/client.ts'
import type { StoredAssistant } from '../shared/assistants/content.ts'
import { Differences } from '../shared/assistants/differences.tsx'
import { ASSISTANTS_KEY, refreshAssistants } from '../shared/models/assistants.ts'
import { formatTimestamp } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Outcome, useAction } from '../shared/ui/action-form.tsx'
import { Button, getButtonClass } from '../shared/ui/button.tsx'
import { ConfirmButton } from '../shared/ui/confirm-button.tsx'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { LabelledField } from '../shared/ui/field.tsx'
import { Select } from '../shared/ui/input.tsx'
import { Page, PageError } from '../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { Section } from '../shared/ui/section.tsx'
import { Skeleton } from '../shared/ui/skeleton.tsx'
import { HeadLabel } from './head-label.tsx'
import styles from './history-page.module.css'

type Version = Awaited<ReturnType<typeof api.assistants.versions.query>>[number]

/** Lists the versions of an assistant, compares them, publishes and restores them. */
export function HistoryPage({ handle }: { handle: string }) {
  const { data, error } = useQuery({
    queryKey: [ASSISTANTS_KEY, 'history', handle],
    queryFn: async ({ signal }) => {
      const [stored, versions] = await Promise.all([
        api.assistants.get.query({ handle }, { signal }),
        api.assistants.versions.query({ handle }, { signal }),
      ])
      return { stored, versions }
    },
  })
  const title = t('app.assistants.historyOf', { name: data?.stored.name ?? handle })
  usePageTitle(title)
  return (
    <Page>
      <PageHead>
        <h1 dir="auto">{title}</h1>
        <Link to="/assistants/$handle/edit" params={{ handle }} className={getButtonClass()}>
          <HeadLabel icon="edit" text={t('app.assistants.edit')} />
        </Link>
      </PageHead>
      {error && !data ? (
        <PageError error={error} />
      ) : (
        <div className={styles.history}>{data ? <History {...data} /> : <Skeleton />}</div>
      )}
    </Page>
  )
}

function History({ stored, versions }: { stored: StoredAssistant; versions: readonly Version[] }) {
  const { published, latest } = stored
  const [compared, setCompared] = useState<{ before: number; after: number }>()
  const pair = compared ?? { before: Math.max(1, latest - 1), after: latest }
  const { isBusy, outcome, isWrong, run } = useAction()
  const act = (action: () => Promise<string>) =>
    void run(async () => {
      const text = await action()
      setCompared(undefined)
      await refreshAssistants()
      return text
    })
  return (
    <>
      <Section title={t('app.assistants.versions')} className={styles.section}>
        <ol className={styles.versions}>
          {versions.map((version) => (
            <VersionRow
              key={version.number}
              version={version}
              stored={stored}
              isBusy={isBusy}
              act={act}
              compare={
                version.number > 1
                  ? () => setCompared({ before: version.number - 1, after: version.number })
                  : undefined
              }
            />
          ))}
        </ol>
        <Outcome outcome={outcome} isWrong={isWrong} />
      </Section>
      {versions.length > 1 && (
        <Comparison handle={stored.handle} versions={versions} published={published} pair={pair} choose={setCompared} />
      )}
    </>
  )
}

interface VersionRowProps {
  version: Version
  stored: StoredAssistant
  isBusy: boolean
  act: (action: () => Promise<string>) => void
  /** Undefined for the first version. */
  compare: (() => void) | undefined
}

function VersionRow({ version, stored, isBusy, act, compare }: VersionRowProps) {
  const { number, author, createdAt, hasChangedFiles } = version
  const { handle, published, latest } = stored
  const ref = { handle, version: number }
  const publish = async () => {
    const { isWaiting } = await api.assistants.publish.mutate(ref)
    return t(isWaiting ? 'app.assistants.waits' : 'app.assistants.nowAnswers', { version: number })
  }
  const restore = async () => {
    const saved = await api.assistants.restore.mutate({ ...ref, publish: false })
    return t('app.assistants.restored', { from: number, version: saved.version })
  }
  return (
    <li>
      <div className={styles.facts}>
        <p>
          <strong>{t('app.assistants.version', { version: number })}</strong>
          {number === published && <span className={styles.badge}>{t('app.assistants.answers')}</span>}
        </p>
        <p className="hint">
          {t('app.assistants.savedBy', {
            author: author ?? t('app.assistants.house'),
            at: formatTimestamp(new Date(createdAt)),
          })}
        </p>
        {hasChangedFiles && <p className="hint">{t('app.assistants.changedFiles')}</p>}
      </div>
      <div className={styles.actions}>
        {compare && (
          <Button kind="plain" aria-label={t('app.assistants.compareOne', { version: number })} onClick={compare}>
            {t('app.assistants.compare')}
          </Button>
        )}
        {number < latest && (
          <Button
            kind="plain"
            aria-disabled={isBusy}
            aria-label={t('app.assistants.restore', { version: number })}
            onClick={() => act(restore)}
          >
            {t('app.assistants.restoreShort')}
          </Button>
        )}
        {number !== published && (
          <ConfirmButton
            kind="plain"
            label={t('app.assistants.publish', { version: number })}
            confirmation={{
              title: t('app.assistants.publish', { version: number }),
              text: t('app.assistants.publishText'),
              action: t('app.assistants.publishShort'),
            }}
            act={() => act(publish)}
          >
            {t('app.assistants.publishShort')}
          </ConfirmButton>
        )}
      </div>
    </li>
  )
}

interface ComparisonProps {
  handle: string
  versions: readonly Version[]
  published: number | null
  pair: { before: number; after: number }
  choose: (pair: { before: number; after: number }) => void
}

function Comparison({ handle, versions, published, pair, choose }: ComparisonProps) {
  const { before, after } = pair
  const { data, error } = useQuery({
    queryKey: [ASSISTANTS_KEY, 'compared', handle, before, after],
    queryFn: ({ signal }) =>
      Promise.all([before, after].map((version) => api.assistants.version.query({ handle, version }, { signal }))),
    // A version never changes.
    staleTime: Number.POSITIVE_INFINITY,
  })
  const [earlier, later] = data ?? []
  return (
    <Section title={t('app.assistants.difference')} className={styles.section}>
      <div className={styles.pair}>
        <VersionSelect
          label={t('app.assistants.from')}
          value={before}
          versions={versions}
          published={published}
          choose={(version) => choose({ before: version, after })}
        />
        <VersionSelect
          label={t('app.assistants.to')}
          value={after}
          versions={versions}
          published={published}
          choose={(version) => choose({ before, after: version })}
        />
      </div>
      <ErrorNotice error={error} />
      <div aria-live="polite">{earlier && later && <Differences before={earlier} after={later} />}</div>
    </Section>
  )
}

interface VersionSelectProps {
  label: string
  value: number
  versions: readonly Version[]
  published: number | null
  choose: (version: number) => void
}

const VersionSelect = ({ label, value, versions, published, choose }: VersionSelectProps) => (
  <LabelledField label={label}>
    {(control) => (
      <Select {...control} value={value} onChange={({ target }) => choose(Number(target.value))}>
        {versions.map(({ number }) => (
          <option key={number} value={number}>
            {t(number === published ? 'app.assistants.versionAnswering' : 'app.assistants.version', {
              version: number,
            })}
          </option>
        ))}
      </Select>
    )}
  </LabelledField>
)
