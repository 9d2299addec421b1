import { Link } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Notice } from '../shared/ui/notice.tsx'
import { Page } from '../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { SectionLinks } from '../shared/ui/section-links.tsx'
import { AccountSettings } from './account-settings.tsx'
import { AppearanceSettings } from './appearance-settings.tsx'
import { ApprovalSettings } from './approval-settings.tsx'
import { ChatSettings } from './chat-settings.tsx'
import { DataSettings } from './data-settings.tsx'
import { LinkSettings } from './link-settings.tsx'
import { LinkedAppSettings } from './linked-app-settings.tsx'
import { ProfileSettings } from './profile-settings.tsx'
import { ProgramSettings } from './program-settings.tsx'
import type { SettingsSection } from './sections.ts'
import { SecuritySettings } from './security-settings.tsx'
import { SessionSettings } from './session-settings.tsx'
import styles from './settings-page.module.css'
import { TokenSettings } from './token-settings.tsx'
import { UsageSettings } from './usage-settings.tsx'

interface Section {
  label: string
  Content: ComponentType
}

/** Both kinds of access that programs have: by a pasted token, and by a sign-in. */
const AccessSettings = () => (
  <>
    <TokenSettings />
    <ProgramSettings />
  </>
)

/** The sections by their addresses. */
const sections: Record<string, Section> = {
  profile: { label: 'app.settings.profile', Content: ProfileSettings },
  chats: { label: 'app.settings.chats', Content: ChatSettings },
  links: { label: 'app.settings.links', Content: LinkSettings },
  security: { label: 'app.settings.security', Content: SecuritySettings },
  tokens: { label: 'app.settings.tokens', Content: AccessSettings },
  apps: { label: 'app.settings.apps', Content: LinkedAppSettings },
  approvals: { label: 'app.settings.approvals', Content: ApprovalSettings },
  accounts: { label: 'app.settings.accounts', Content: AccountSettings },
  usage: { label: 'app.settings.usage', Content: UsageSettings },
  data: { label: 'app.settings.data', Content: DataSettings },
  sessions: { label: 'app.settings.sessions', Content: SessionSettings },
  appearance: { label: 'app.settings.appearance', Content: AppearanceSettings },
} satisfies Record<SettingsSection, Section>

/** The settings of a person. */
export function SettingsPage({ section }: { section: string }) {
  const { isLocked } = useSession()
  const { label = 'app.settings', Content } = sections[section] ?? {}
  usePageTitle(t(label))
  return (
    <Page>
      <PageHead>
        <h1>{t('app.settings')}</h1>
      </PageHead>
      <div className={styles.body}>
        <nav aria-label={t('app.settings.sections')}>
          <SectionLinks layout="adaptive" current={section}>
            {Object.entries(sections).map(([name, { label: text }]) => (
              <Link key={name} to="/settings/$section" params={{ section: name }}>
                {t(text)}
              </Link>
            ))}
          </SectionLinks>
        </nav>
        <div className={styles.content}>
          {isLocked && (
            <Notice className={styles.notice}>
              {t('app.settings.locked')} <a href={getUnlockUrl(section)}>{t('app.settings.unlock')}</a>
            </Notice>
          )}
          {Content ? <Content /> : <Notice kind="error">{t('app.error.not_found')}</Notice>}
        </div>
      </div>
    </Page>
  )
}

const getUnlockUrl = (section: string) => `/handshake?redirectUri=${encodeURIComponent(`/settings/${section}`)}`
