import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { api } from '../shared/api/client.ts'
import { formatDate, formatNumber } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Facts } from '../shared/ui/facts.tsx'
import { Field } from '../shared/ui/field.tsx'
import { numberHead, Table } from '../shared/ui/table.tsx'
import { runMutation, useCall, useFigures } from './admin-queries.ts'
import { findChoice } from './filters.ts'
import { InlineForm } from './form-fields.tsx'
import { readNumber } from './member-values.ts'
import { Part, StateBadge } from './parts.tsx'

interface Count {
  files: number
  bytes: number
}

const MEGA = 1_000_000

const formatMegabytes = (bytes: number) => formatNumber(Math.ceil(bytes / MEGA))
const formatFileCount = ({ files, bytes }: Count) =>
  t('app.admin.filesOf', { files: formatNumber(files), size: formatMegabytes(bytes) })

/** Statistics of the stored files, their verification, and a preview of the retention. */
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
  const choice = findChoice(kinds, kind)
  return choice ? t(kindLabels[choice]) : t('app.admin.kindOther')
}

interface CountsProps {
  label: string
  head: string
  counts: readonly (Count & { key: string; name: ReactNode })[]
}

const Counts = ({ label, head, counts }: CountsProps) =>
  counts.length > 0 && (
    <Table
      label={label}
      heads={[head, numberHead(t('app.admin.files')), numberHead(t('app.admin.megabytes'))]}
      rows={counts.map(({ key, name, files, bytes }) => ({
        key,
        cells: [name, formatNumber(files), formatMegabytes(bytes)],
      }))}
    />
  )

type Verification = Awaited<ReturnType<typeof api.files.verify.query>>

const DEFAULT_SAMPLE = 10

/** Compares the storage with the database, and reads a sample of the files. */
function VerifyFiles() {
  const { isWorking, result, error, run } = useCall<Verification>()
  const verify = (form: FormData) =>
    run(() => runMutation(() => api.files.verify.query({ sample: readNumber(form, 'sample') ?? DEFAULT_SAMPLE })))
  return (
    <>
      <InlineForm action={t('app.admin.verifyFiles')} isWorking={isWorking} submit={verify}>
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
      </InlineForm>
      <div role="status">{result && <Findings verification={result} />}</div>
      <ErrorMessage error={error} />
    </>
  )
}

const findingLabels = {
  'no-file': 'app.admin.findingNoFile',
  'no-owner': 'app.admin.findingNoOwner',
  'unknown-key': 'app.admin.findingUnknownKey',
  damaged: 'app.admin.findingDamaged',
} as const

function Findings({ verification: { files, read, listed } }: { verification: Verification }) {
  const counts = { files: formatNumber(files), read: formatNumber(read) }
  if (listed.length === 0) return <StateBadge kind="ok">{t('app.admin.filesWell', counts)}</StateBadge>
  return (
    <>
      <StateBadge kind="wrong">{t('app.admin.filesWrong', { ...counts, count: listed.length })}</StateBadge>
      <Table
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

/** Lists the files that a retention of some months would delete. */
function RetentionPreview() {
  const [months, setMonths] = useState<number>()
  const { data, error } = useFigures(['expired', months], (signal) =>
    api.files.expired.query({ ...(months !== undefined && { months }) }, { signal }),
  )
  return (
    <>
      <InlineForm action={t('app.admin.preview')} submit={(form) => setMonths(readNumber(form, 'months') ?? undefined)}>
        <Field
          label={t('app.admin.retentionMonths')}
          name="months"
          type="number"
          min={1}
          max={1200}
          hint={t('app.admin.retentionHint')}
        />
      </InlineForm>
      <ErrorMessage error={error} />
      <div role="status">
        {data &&
          (data.length === 0 ? (
            <p className="hint">{t('app.admin.nothingExpired')}</p>
          ) : (
            <Table
              label={t('app.admin.expired')}
              heads={[
                t('app.admin.ofRoom'),
                numberHead(t('app.admin.files')),
                numberHead(t('app.admin.megabytes')),
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
