import { Link } from '@tanstack/react-router'
import { type ComponentType, lazy, Suspense } from 'react'
import { FreshSessionDialog } from '../shared/fresh-session.tsx'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { MessagePage } from '../shared/ui/message-page.tsx'
import { Page } from '../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { Skeleton } from '../shared/ui/skeleton.tsx'
import styles from './admin-page.module.css'
import { useLiveRecords } from './admin-queries.ts'
import { isSection, type SectionName, sections } from './sections.ts'

/** The id of a record in the address; without one, a section shows its list. */
interface SectionProps {
  id?: string | undefined
}

/** The sections, which load on demand. */
const contents: Record<SectionName, ComponentType<SectionProps>> = {
  overview: lazy(async () => ({ default: (await import('./overview-section.tsx')).OverviewSection })),
  people: lazy(async () => ({ default: (await import('./people-section.tsx')).PeopleSection })),
  tokens: lazy(async () => ({ default: (await import('./tokens-section.tsx')).TokensSection })),
  models: lazy(async () => ({ default: (await import('./catalogue/models-section.tsx')).ModelsSection })),
  providers: lazy(async () => ({ default: (await import('./catalogue/providers-section.tsx')).ProvidersSection })),
  tasks: lazy(async () => ({ default: (await import('./catalogue/tasks-section.tsx')).TasksSection })),
  tools: lazy(async () => ({ default: (await import('./tools-section.tsx')).ToolsSection })),
  assistants: lazy(async () => ({ default: (await import('./assistants-section.tsx')).AssistantsSection })),
  limits: lazy(async () => ({ default: (await import('./limits-section.tsx')).LimitsSection })),
  usage: lazy(async () => ({ default: (await import('./usage-sections.tsx')).UsageSection })),
  bills: lazy(async () => ({ default: (await import('./usage-sections.tsx')).BillsSection })),
  apps: lazy(async () => ({ default: (await import('./apps-section.tsx')).AppsSection })),
  programs: lazy(async () => ({ default: (await import('./programs-section.tsx')).ProgramsSection })),
  links: lazy(async () => ({ default: (await import('./links-section.tsx')).LinksSection })),
  prompts: lazy(async () => ({ default: (await import('./prompts-section.tsx')).PromptsSection })),
  announcements: lazy(async () => ({ default: (await import('./announcements-section.tsx')).AnnouncementsSection })),
  settings: lazy(async () => ({ default: (await import('./settings-section.tsx')).ServiceSettingsSection })),
  audit: lazy(async () => ({ default: (await import('./audit/audit-section.tsx')).AuditSection })),
}

/** The administration. Other people see that nothing exists at its address. */
export function AdminPage({ section, id }: { section: string; id?: string }) {
  const { isAdministrator } = useSession()
  return isAdministrator && isSection(section) ? <AdminSection section={section} id={id} /> : <NothingHere />
}

function AdminSection({ section, id }: { section: SectionName } & SectionProps) {
  const Content = contents[section]
  usePageTitle(t(sections[section]))
  useLiveRecords()
  return (
    <Page className={styles.admin}>
      <PageHead>
        <h1>
          {id === undefined ? (
            t(sections[section])
          ) : (
            <Link to="/admin/$section" params={{ section }} className={styles.title}>
              {t(sections[section])}
            </Link>
          )}
        </h1>
      </PageHead>
      <div className={styles.body}>
        <Suspense fallback={<Skeleton />}>
          <Content id={id} key={`${section} ${id}`} />
        </Suspense>
      </div>
      <FreshSessionDialog />
    </Page>
  )
}

const NothingHere = () => (
  <MessagePage>
    <h1>{t('page.notFound.title')}</h1>
    <p>{t('app.error.not_found')}</p>
    <Link to="/chat">{t('app.chats')}</Link>
  </MessagePage>
)
