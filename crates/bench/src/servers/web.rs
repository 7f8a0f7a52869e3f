// SPDX-License-Identifier: MIT OR Apache-2.0
//! Apache or nginx with a tree of files on 127.0.0.1 [CAS §7.2].

use super::numbers::{Reading, Summary};
use super::programs::{APACHE, NGINX, WGET};
use super::session::{Session, Stage};
use super::{fetches, Server, User};
use crate::error::Error;
use std::fmt::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

const DIRECTORIES: u32 = 20;
const FILES: u32 = 20;
/// Pages of the root and of each directory, and files.
const ALL: u64 = 1 + DIRECTORIES as u64 * (1 + FILES as u64);

const SET_UP: Duration = Duration::from_secs(60);

/// Where distributions have Apache's modules.
const MODULES: [&str; 5] = [
    "/usr/lib/apache2/modules",
    "/usr/lib64/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
    "/usr/libexec/apache2",
];

/// A web server of one's own.
pub(crate) struct Web {
    pub(crate) session: Session,
    url: String,
    wget: String,
    downloads: String,
    customer: User,
}

impl Web {
    pub(crate) fn start(
        stage: &Stage<'_>,
        server: Server,
        own: User,
        customer: User,
    ) -> Result<Self, Error> {
        let name = server.name();
        let directory = stage.directory_of(name, own)?;
        let tree = directory.join("tree");
        plant(&tree).map_err(|e| Error::system("write the tree of files", e))?;
        let port = free_port()?;
        let (config, program) = match server {
            Server::Nginx => (nginx(&directory, port), NGINX.find()?),
            _ => (apache(&directory, port, modules()?), APACHE.find()?),
        };
        let config = stage.file(&format!("{name}.conf"), config)?.display().to_string();
        let (program, root) = (program.display().to_string(), directory.display().to_string());
        let errors = directory.join("error.log").display().to_string();
        let words: &[&str] = match server {
            Server::Nginx => &[&program, "-c", &config, "-p", &root, "-e", &errors],
            _ => &[&program, "-D", "FOREGROUND", "-f", &config],
        };
        let mut session = stage.start(name, own, words)?;
        let there = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        session.ready(stage, SET_UP, there)?;
        let downloads = format!("{name}-downloads");
        Ok(Self {
            session,
            url: format!("http://127.0.0.1:{port}/"),
            wget: WGET.find()?.display().to_string(),
            downloads: stage.directory_of(&downloads, customer)?.display().to_string(),
            customer,
        })
    }

    pub(crate) fn run(&self, stage: &Stage<'_>, time: Duration) -> Result<Vec<Reading>, Error> {
        let nanoseconds = time.as_nanos().to_string();
        let words = ["fetch", &self.url, &self.wget, &self.downloads, &nanoseconds];
        let customer = stage.child("fetch", self.customer, &words)?;
        let found = fetches::parse(&customer.finish(stage, fetches::limit(time))?)?;
        if let Some(short) = found.iter().find(|fetch| fetch.files != ALL) {
            let files = short.files;
            return Err(Error::Failure(format!("wget got {files} files of {ALL}")));
        }
        let times: Vec<f64> = found.iter().map(|fetch| fetch.took_ns as f64 / 1e6).collect();
        let median = Summary::of(&times).ok_or_else(|| Error::Failure("no fetch".into()))?.median;
        let reading = |key, unit, value| Reading { key, unit, value };
        Ok(vec![reading("fetch", "ms", median), reading("fetches", "number", times.len() as f64)])
    }
}

fn free_port() -> Result<u16, Error> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr());
    Ok(bound.map_err(|e| Error::system("find a free port", e))?.port())
}

fn modules() -> Result<&'static Path, Error> {
    let found = MODULES.iter().map(Path::new).find(|path| path.is_dir());
    let list = MODULES.join(", ");
    found.ok_or_else(|| Error::Failure(format!("Apache's modules are in none of {list}")))
}

/// Pages with links, and files of 1 to 64 KB that they lead to.
fn plant(root: &Path) -> std::io::Result<()> {
    let page = |links: &[String]| {
        let link = |to: &String| format!("<li><a href=\"{to}\">{to}</a></li>\n");
        let links: String = links.iter().map(link).collect();
        format!("<!DOCTYPE html>\n<html><body><ul>\n{links}</ul></body></html>\n")
    };
    std::fs::create_dir(root)?;
    let directories: Vec<String> = (0..DIRECTORIES).map(|d| format!("d{d}/index.html")).collect();
    std::fs::write(root.join("index.html"), page(&directories))?;
    for d in 0..DIRECTORIES {
        let directory = root.join(format!("d{d}"));
        std::fs::create_dir(&directory)?;
        let files: Vec<String> = (0..FILES).map(|f| format!("f{f}.txt")).collect();
        std::fs::write(directory.join("index.html"), page(&files))?;
        for (f, file) in files.iter().enumerate() {
            let line = format!("directory {d}, file {f}\n");
            let bytes = 1024 << ((d as usize + f) % 7);
            std::fs::write(directory.join(file), line.repeat(bytes / line.len()))?;
        }
    }
    Ok(())
}

/// Debian's defaults: threads and processes as many as these take without a word.
fn apache(directory: &Path, port: u16, modules: &Path) -> String {
    let (root, modules) = (directory.display(), modules.display());
    let mut text = format!(
        "ServerName 127.0.0.1
ServerRoot \"{root}\"
DefaultRuntimeDir \"{root}\"
PidFile \"{root}/pid\"
ErrorLog \"{root}/error.log\"
Listen 127.0.0.1:{port}
"
    );
    for module in ["mpm_event", "unixd", "authz_core", "dir", "mime"] {
        // Some distributions have some of them built in.
        let _ = write!(
            text,
            "<IfModule !{module}_module>
    LoadModule {module}_module \"{modules}/mod_{module}.so\"
</IfModule>
"
        );
    }
    let _ = write!(
        text,
        "TypesConfig /dev/null
AddType text/html .html
AddType text/plain .txt
DocumentRoot \"{root}/tree\"
"
    );
    text
}

fn nginx(directory: &Path, port: u16) -> String {
    let root = directory.display();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("    {kind}_temp_path \"{root}/{kind}\";\n"))
        .concat();
    format!(
        "daemon off;
worker_processes 1;
pid \"{root}/pid\";
events {{ }}
http {{
{temporary}    access_log off;
    types {{ text/html html; text/plain txt; }}
    server {{
        listen 127.0.0.1:{port};
        root \"{root}/tree\";
    }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_tree_has_a_link() {
        let scratch = tempfile::tempdir().expect("a directory");
        let root = scratch.path().join("tree");
        plant(&root).expect("written");
        let read = |path: &Path| std::fs::read_to_string(path).expect("readable");
        let links = |page: &str| page.matches("<a href=").count();
        let mut found = 1;
        let page = read(&root.join("index.html"));
        assert_eq!(links(&page), DIRECTORIES as usize);
        for d in 0..DIRECTORIES {
            let directory = root.join(format!("d{d}"));
            assert!(page.contains(&format!("\"d{d}/index.html\"")));
            let files = std::fs::read_dir(&directory).expect("there").count();
            assert_eq!(links(&read(&directory.join("index.html"))), files - 1);
            found += files as u64;
        }
        assert_eq!(found, ALL);
        let size = |name: &str| root.join(name).metadata().expect("there").len();
        assert!(size("d0/f0.txt") <= 1024 && size("d0/f6.txt") > 60_000);
    }

    #[test]
    fn servers_listen_at_the_loopback_only() {
        let (root, modules) = (Path::new("/x"), Path::new("/m"));
        assert!(apache(root, 8001, modules).contains("\nListen 127.0.0.1:8001\n"));
        assert!(nginx(root, 8001).contains("listen 127.0.0.1:8001;"));
    }
}
