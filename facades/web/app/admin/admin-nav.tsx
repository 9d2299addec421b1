import { Link } from '@tanstack/react-router'
import { t } from '../shared/text/labels.ts'
import { SectionLinks } from '../shared/ui/section-links.tsx'
import { SideList } from '../shared/ui/side-list.tsx'
import styles from './admin-nav.module.css'
import { sections, topics } from './sections.ts'

interface AdminNavProps {
  onChoose: () => void
}

/** The sections of the administration by topic, shown in the sidebar. */
export const AdminNav = ({ onChoose }: AdminNavProps) => (
  <SideList label={t('app.admin')}>
    <TopicLinks sections={{ overview: sections.overview }} onChoose={onChoose} />
    {topics.map(({ label, sections: some }) => (
      <section key={label} className={styles.topic} aria-labelledby={label}>
        <h2 id={label}>{t(label)}</h2>
        <TopicLinks sections={some} onChoose={onChoose} />
      </section>
    ))}
  </SideList>
)

const TopicLinks = ({ sections: some, onChoose }: AdminNavProps & { sections: Readonly<Record<string, string>> }) => (
  <SectionLinks layout="column">
    {Object.entries(some).map(([section, label]) => (
      <Link key={section} to="/admin/$section" params={{ section }} onClick={onChoose}>
        {t(label)}
      </Link>
    ))}
  </SectionLinks>
)
