import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Link } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import { api } from '../shared/api/client.ts'
import { formatDate, formatNumber } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Field } from '../shared/ui/field.tsx'
import { useFigures, runMutation } from './admin-queries.ts'
import { findChoice } from './filters.ts'
import { readNumber } from './form-fields.tsx'
import { Facts, Part, PlainTable, StateBadge } from './parts.tsx'

interface Count {
  files: number
  bytes: number
}

const MEGA = 1_000_000

const formatMegabytes = (bytes: number) => formatNumber(Math.ceil(bytes / MEGA))
const formatFileCount = ({ files, bytes }: Count) =>
  t('app.admin.filesOf', { files: formatNumber(files), size: formatMegabytes(bytes) })

/** Shows what is stored of files, verifies it, and previews what a retention would delete. */
export function StoragePart() {
  const { data, error } = useFigures(['storage'], (signal) => api.files.stats.query(undefined, { signal }))
  return (
    <Part title={t('app.admin.storage')}>
      <ErrorMessage error={error} />
      {data && (
        <>
          <Facts
            facts={[
              [t('app.admin.files'), formatFileCount(data)],
              [t('app.admin.pictures'), formatFileCount(data.pictures)],
            ]}
          />
          <Counts
            label={t('app.admin.filesByKind')}
            head={t('app.admin.kind')}
            counts={data.kinds.map((count) => ({ ...count, key: count.kind, name: getKindLabel(count.kind) }))}
          />
          <Counts
            label={t('app.admin.largestOwners')}
            head={t('app.admin.ofUser')}
            counts={data.owners.map((count) => ({
              ...count,
              key: `${count.user}`,
              name: (
                <Link to="/admin/$section/$id" params={{ section: 'people', id: `${count.user}` }}>
                  {t('app.admin.personNumber', { id: count.user })}
                </Link>
              ),
            }))}
          />
        </>
      )}
      <VerifyFiles />
      <RetentionPreview />
    </Part>
  )
}

const kindLabels = {
  document: 'app.admin.kindDocument',
  image: 'app.admin.kindImage',
  audio: 'app.admin.kindAudio',
  video: 'app.admin.kindVideo',
} as const
const kinds = ['document', 'image', 'audio', 'video'] as const

function getKindLabel(kind: string): string {
  const known = findChoice(kinds, kind)
  return known ? t(kindLabels[known]) : t('app.admin.kindOther')
}

interface CountsProps {
  label: string
  head: string
  counts: readonly (Count & { key: string; name: ReactNode })[]
}

const Counts = ({ label, head, counts }: CountsProps) =>
  counts.length > 0 && (
    <PlainTable
      label={label}
      heads={[head, `#${t('app.admin.files')}`, `#${t('app.admin.megabytes')}`]}
      rows={counts.map(({ key, name, files, bytes }) => ({ key, cells: [name, formatNumber(files), formatMegabytes(bytes)] }))}
    />
  )

type Verification = Awaited<ReturnType<typeof api.files.verify.query>>
type VerifyState = 'ready' | 'working' | { found: Verification } | { error: unknown }

const DEFAULT_SAMPLE = 10

/** Compares what is stored with what the database knows, and reads some of it to the end. */
function VerifyFiles() {
  const [state, setState] = useState<VerifyState>('ready')
  const verify = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (state === 'working') return
    const sample = readNumber(new FormData(event.currentTarget), 'sample') ?? DEFAULT_SAMPLE
    setState('working')
    setState(
      await runMutation(() => api.files.verify.query({ sample })).then(
        (found) => ({ found }),
        (error: unknown) => ({ error }),
      ),
    )
  }
  return (
    <>
      <form className="try" onSubmit={verify}>
        <Field
          label={t('app.admin.sample')}
          name="sample"
          type="number"
          min={0}
          max={100}
          step="any"
          defaultValue={DEFAULT_SAMPLE}
          required
        />
        <button type="submit" className="quiet-button" aria-disabled={state === 'working'}>
          {t(state === 'working' ? 'page.working' : 'app.admin.verifyFiles')}
        </button>
      </form>
      <div role="status">{typeof state === 'object' && 'found' in state && <Findings found={state.found} />}</div>
      {typeof state === 'object' && 'error' in state && <ErrorMessage error={state.error} />}
    </>
  )
}

const findingLabels = {
  'no-file': 'app.admin.findingNoFile',
  'no-owner': 'app.admin.findingNoOwner',
  'unknown-key': 'app.admin.findingUnknownKey',
  damaged: 'app.admin.findingDamaged',
} as const

function Findings({ found }: { found: Verification }) {
  const { files, read, listed } = found
  const counts = { files: formatNumber(files), read: formatNumber(read) }
  if (listed.length === 0) return <StateBadge kind="ok">{t('app.admin.filesWell', counts)}</StateBadge>
  return (
    <>
      <StateBadge kind="wrong">{t('app.admin.filesWrong', { ...counts, count: listed.length })}</StateBadge>
      <PlainTable
        label={t('app.admin.findings')}
        heads={[t('app.admin.finding'), t('app.admin.file'), t('app.admin.subject')]}
        rows={listed.map(({ finding, file, owner }) => ({
          key: file,
          cells: [t(findingLabels[finding]), <code key="file">{file}</code>, owner],
        }))}
      />
    </>
  )
}

/** Shows which files would be deleted if they were kept for so many months. */
function RetentionPreview() {
  const [months, setMonths] = useState<number>()
  const { data, error } = useFigures(['expired', months], (signal) =>
    api.files.expired.query({ ...(months !== undefined && { months }) }, { signal }),
  )
  const preview = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    setMonths(readNumber(new FormData(event.currentTarget), 'months') ?? undefined)
  }
  return (
    <>
      <form className="try" onSubmit={preview}>
        <Field
          label={t('app.admin.retentionMonths')}
          name="months"
          type="number"
          min={1}
          max={1200}
          hint={t('app.admin.retentionHint')}
        />
        <button type="submit" className="quiet-button">
          {t('app.admin.preview')}
        </button>
      </form>
      <ErrorMessage error={error} />
      <div role="status">
        {data &&
          (data.length === 0 ? (
            <p className="hint">{t('app.admin.nothingExpired')}</p>
          ) : (
            <PlainTable
              label={t('app.admin.expired')}
              heads={[
                t('app.admin.ofRoom'),
                `#${t('app.admin.files')}`,
                `#${t('app.admin.megabytes')}`,
                t('app.admin.oldest'),
              ]}
              rows={data.map(({ room, files, bytes, oldest }) => ({
                key: `${room}`,
                cells: [
                  room === null ? t('app.admin.noRoom') : formatNumber(room),
                  formatNumber(files),
                  formatMegabytes(bytes),
                  formatDate(oldest),
                ],
              }))}
            />
          ))}
      </div>
    </>
  )
}
