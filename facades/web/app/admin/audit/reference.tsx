import { Link } from '@tanstack/react-router'
import { t } from '../../shared/text/labels.ts'
import { toSearchValue } from '../filters.ts'
import type { SectionName } from '../sections.ts'

/** The names of references such as `user:5`. */
export type Names = Readonly<Record<string, string>>

interface Kind {
  label: string
  /** Absent if no section shows one. */
  section?: SectionName
  /** The filter of the section that shows the record alone, by its name; the search if absent. */
  filter?: string
  /** True if the section has a page for each record. */
  hasPage?: true
  /** True if references have the name of the record in place of its id. */
  isByName?: true
}

const kinds: Readonly<Record<string, Kind>> = {
  user: { label: 'app.admin.ofUser', section: 'people', hasPage: true },
  app: { label: 'app.admin.ofApp', section: 'apps' },
  'ext-apps': { label: 'app.admin.ofApp', section: 'apps' },
  'oauth-client': { label: 'app.admin.program', section: 'programs' },
  'ai-models': { label: 'app.admin.ofModel', section: 'models', hasPage: true },
  'ai-providers': { label: 'app.admin.ofProvider', section: 'providers', hasPage: true },
  'ai-tools': { label: 'app.admin.tool', section: 'tools' },
  'mcp-servers': { label: 'app.admin.server', section: 'tools', filter: 'server' },
  'system-models': { label: 'app.field.systemModels.modelType', section: 'tasks' },
  prompts: { label: 'app.audit.prompt', section: 'prompts' },
  'system-prompts': { label: 'app.audit.systemPrompt', section: 'tasks' },
  assistants: { label: 'app.assistants.one' },
  announcements: { label: 'app.audit.announcement', section: 'announcements', hasPage: true },
  limits: { label: 'app.field.cap', section: 'limits', isByName: true },
}

const actorLabels: Readonly<Record<string, string>> = {
  host: 'app.audit.host',
  guest: 'app.audit.guest',
  registering: 'app.audit.registering',
}

const numberedReference = /^([a-z-]+):(\d+)$/

/** Describes a reference by its name and id, as in «Ada (u-7)»; what has no name any more keeps its kind and id. */
export function describeReference(reference: string, names: Names): string {
  const actor = actorLabels[reference]
  if (actor) return t(actor)
  const name = names[reference]
  const id = writeId(reference)
  return name === undefined ? id : `${name} (${id})`
}

/** Writes `user:7` as «u-7», and other references with the word for their kind. */
function writeId(reference: string): string {
  const [, kind = '', number = ''] = numberedReference.exec(reference) ?? []
  if (kind === 'user') return `u-${number}`
  const label = kinds[kind]?.label
  if (label) return `${t(label)} ${number}`
  const [otherKind = '', ...rest] = reference.split(':')
  const otherLabel = kinds[otherKind]?.label
  return otherLabel && rest.length > 0 ? `${t(otherLabel)} ${rest.join(':')}` : reference
}

/** A reference in words, as a link to the page of what it names, or to its row in a list. */
export function Reference({ reference, names }: { reference: string; names: Names }) {
  const text = describeReference(reference, names)
  const [kindName = '', ...rest] = reference.split(':')
  const kind = kinds[kindName]
  const id = rest.join(':')
  const isNumbered = numberedReference.test(reference)
  // A subject without a name was removed and has no page.
  if (!kind || (isNumbered && !kind.isByName && names[reference] === undefined)) return <bdi>{text}</bdi>
  const { section, filter = 'q', hasPage } = kind
  if (!section) return <bdi>{text}</bdi>
  if (hasPage)
    return (
      <Link to="/admin/$section/$id" params={{ section, id }}>
        {text}
      </Link>
    )
  return (
    <Link to="/admin/$section" params={{ section }} search={{ [filter]: toSearchValue(names[reference] ?? id) }}>
      {text}
    </Link>
  )
}
